"""Settings that several scripts share, a group a class. Nothing here needs TensorFlow."""
