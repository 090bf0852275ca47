"""What Keras asks of models: saving and loading, and `compile` and `fit`."""
