"""Methods to create smaller models from trained ones, independent of a model's task."""
