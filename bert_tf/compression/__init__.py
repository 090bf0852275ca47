"""Smaller models that answer as a larger one does: the mathematics of the methods, whatever a model is used for."""
