"""Tests of the whole project."""

from bert_tf.cli import script

# Before a test imports TensorFlow: it is to compute as it does in the scripts.
script.prepare_tensorflow()
