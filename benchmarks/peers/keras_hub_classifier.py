"""Fine-tuning of a text classifier with KerasHub's BertTextClassifier on TensorFlow.

KerasHub pads all texts to one length. bfloat16 is Keras' policy mixed_bfloat16.
"""

# ruff: noqa: E402, because two settings must come before the imports.

import math
import os
import shutil
import sys
import tempfile
import types

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ.pop("TF_USE_LEGACY_KERAS", None)  # KerasHub requires Keras 3.
# KerasHub imports it for models other than BERT, and it requires a later protobuf than TensorFlow allows.
sys.modules["sentencepiece.sentencepiece_model_pb2"] = types.ModuleType("sentencepiece_model_pb2")

import keras
import keras_hub
import tensorflow as tf
from safetensors.numpy import load_file, save_file

WEIGHT_DECAY, CLIPPING_NORM = 0.01, 1.0


class Peer:
    """The trainer."""

    def train(self, checkpoint, training, development, options):
        """See `benchmarks.peers.torch_classifier.Peer.train`."""
        keras.utils.set_random_seed(options["seed"])
        if options["dtype"] == "bfloat16":
            keras.config.set_dtype_policy("mixed_bfloat16")
        with tempfile.TemporaryDirectory() as preset:
            copy_with_old_names(checkpoint, preset)
            preprocessor = keras_hub.models.BertTextClassifierPreprocessor.from_preset(
                preset, sequence_length=options["max_seq_length"])
            model = keras_hub.models.BertTextClassifier.from_preset(
                preset, num_classes=options["num_labels"], preprocessor=preprocessor)

        def load(rows):
            text_a, text_b, labels = rows
            return tf.data.Dataset.from_tensor_slices(
                ((text_a, text_b) if text_b is not None else text_a, labels))

        batch_size = options["batch_size"]
        count = len(training[2])
        steps = int(options["epochs"] * math.ceil(count / batch_size))
        schedule = keras.optimizers.schedules.PolynomialDecay(options["learning_rate"], steps, 0.0)
        optimizer = keras.optimizers.AdamW(schedule, weight_decay=WEIGHT_DECAY, global_clipnorm=CLIPPING_NORM)
        optimizer.exclude_from_weight_decay(var_names=["bias", "gamma", "beta"])
        model.compile(optimizer=optimizer, loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        batches = load(training).shuffle(count, options["seed"]).batch(batch_size).repeat()
        model.fit(batches, epochs=1, steps_per_epoch=steps, verbose=0)
        # A tuple of one element, because Keras would read a pair as inputs and labels.
        texts = load(development).batch(batch_size).map(lambda texts, labels: (texts,))
        logits = model.predict(texts, verbose=0)
        return logits.argmax(-1).tolist()


def copy_with_old_names(checkpoint, preset):
    """Copies a checkpoint of Hugging Face, with the older tensor names that KerasHub reads."""
    shutil.copytree(checkpoint, preset, dirs_exist_ok=True, copy_function=shutil.copyfile,
                    ignore=shutil.ignore_patterns("*.safetensors"))
    tensors = {}
    for name, value in load_file(os.path.join(checkpoint, "model.safetensors")).items():
        name = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
        tensors[f"bert.{name.removeprefix('bert.')}"] = value
    save_file(tensors, os.path.join(preset, "model.safetensors"))
