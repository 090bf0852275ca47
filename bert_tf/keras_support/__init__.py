"""Keras support of models: saving and loading, `compile`, and `fit`."""
