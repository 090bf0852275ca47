"""Tests of the whole project."""

from bert_tf.cli import script

script.prepare_tensorflow()  # before a test imports TensorFlow: it is to compute as it does in the scripts
