"""Settings that several scripts share, one class per group."""
