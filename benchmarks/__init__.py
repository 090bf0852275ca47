"""Benchmarks: this project measured beside its peers, in one process and turn by turn; each is run on its own."""

from bert_tf.cli import script

script.prepare_tensorflow()  # before a benchmark imports TensorFlow: it is to compute as it does in the scripts
