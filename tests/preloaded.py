"""Imports what scripts import.

The fork server of `tests.scripts` loads this module once, before it forks a script. To import
TensorFlow, TensorFlow Text, tf-models-official, and this project takes about six seconds of a core.
The modules run no operation of TensorFlow, so there are no threads, which a fork would lose.
"""

import gc
import importlib
import pkgutil

MODULES = (
    "tensorflow",
    "tensorflow_text",
    "tf_keras",
    "official.common.distribute_utils",
    "official.modeling.optimization",
    "official.nlp.modeling",
    "matplotlib.backends.backend_agg",
    "matplotlib.figure",
    "sklearn.metrics",
    "scipy.stats",
    "seqeval.metrics",
    "safetensors.numpy",
    "tensorflow_serving.apis.prediction_log_pb2",
    "tokenizers",
    "tqdm",
    "absl.app",
    "tensorboard.summary.v1",
)


def find_modules():
    """Yields the names of this project's modules that are not scripts."""
    for top in ("bert_tf", "data_prep", "run"):
        package = importlib.import_module(top)
        for found in pkgutil.walk_packages(package.__path__, f"{top}."):
            is_script = top != "bert_tf" and found.name.count(".") == 1 and not found.ispkg
            if not (is_script or found.name.endswith("__main__")):
                yield found.name


for name in (*MODULES, *find_modules()):
    importlib.import_module(name)
wordpiece = importlib.import_module("bert_tf.tokenization.wordpiece")
rules = importlib.import_module("bert_tf.tokenization.unicode_rules")
# Tables of all uncased tokenizers: half a second.
wordpiece._normalizer_model(rules.normalization, True, True)
wordpiece._normalizer_model(rules.mark_separation)
# Numba's first function takes half a second.
importlib.import_module("data_prep.records.writer").compute_checksum(b"")
gc.collect()
gc.freeze()  # The collector of a script would touch, and so copy, these objects.
