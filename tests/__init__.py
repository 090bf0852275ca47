"""Tests of the whole project."""

from bert_tf.cli import script

# Before a test imports TensorFlow, so that it computes as in the scripts.
script.prepare_tensorflow()
