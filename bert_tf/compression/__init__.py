"""Smaller models from trained ones: the mathematics of the methods, whatever a model is used for."""
