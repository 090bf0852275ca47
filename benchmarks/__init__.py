"""Benchmarks of this project next to its peers, in one process and in turns.

Each one runs separately.
"""

from bert_tf.cli import script

# This is before a benchmark imports TensorFlow, so that it computes as in the scripts.
script.prepare_tensorflow()
