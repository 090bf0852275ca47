"""Imports what scripts import.

The fork server of `tests.scripts` loads this module once, before it forks a script. To import
TensorFlow, TensorFlow Text, tf-models-official, and this project takes about six seconds of a core.
The modules run no operation of TensorFlow, so there are no threads, which a fork would lose.
"""

import gc
import importlib

from run.demo import warm_up

MODULES = (
    "tensorflow",
    "tensorflow_text",
    "tf_keras",
    "official.common.distribute_utils",
    "official.modeling.optimization",
    "official.nlp.modeling",
    "safetensors.numpy",
    "tensorflow_serving.apis.prediction_log_pb2",
    "tokenizers",
    "absl.app",
)


for name in (*MODULES, *warm_up.LATE_MODULES, *warm_up.find_modules()):
    importlib.import_module(name)
wordpiece = importlib.import_module("bert_tf.tokenization.wordpiece")
rules = importlib.import_module("bert_tf.tokenization.unicode_rules")
# Tables of all uncased tokenizers: half a second.
wordpiece._normalizer_model(rules.normalization, True, True)
wordpiece._normalizer_model(rules.mark_separation)
# Numba's first function takes half a second.
importlib.import_module("data_prep.records.frames").compute_checksum(b"")
gc.collect()
gc.freeze()  # The collector of a script would touch, and so copy, these objects.
