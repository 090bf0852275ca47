"""Fine-tuning of a text classifier with KerasHub's BertTextClassifier on TensorFlow.

KerasHub pads all texts to one length. bfloat16 is Keras' policy mixed_bfloat16.
"""

import math
import os

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ.pop("TF_USE_LEGACY_KERAS", None)  # KerasHub requires Keras 3.

import keras
import keras_hub
import tensorflow as tf

WEIGHT_DECAY = 0.01
CLIPPING_NORM = 1.0


class Peer:
    """The trainer."""

    def train(self, model_path, training, development, options):
        """Fine-tunes a model and returns its predictions; see `torch_classifier.Peer.train`."""
        keras.utils.set_random_seed(options["random_seed"])
        if options["dtype"] == "bfloat16":
            keras.config.set_dtype_policy("mixed_bfloat16")
        preprocessor = keras_hub.models.BertTextClassifierPreprocessor.from_preset(
            model_path, sequence_length=options["max_seq_length"]
        )
        model = keras_hub.models.BertTextClassifier.from_preset(
            model_path, num_classes=options["num_labels"], preprocessor=preprocessor
        )

        def load(rows):
            texts = rows.text_a if rows.text_b is None else (rows.text_a, rows.text_b)
            return tf.data.Dataset.from_tensor_slices((texts, rows.labels))

        batch_size = options["train_batch_size"]
        count = len(training.labels)
        steps = int(options["num_train_epochs"] * math.ceil(count / batch_size))
        schedule = keras.optimizers.schedules.PolynomialDecay(options["learning_rate"], steps, 0.0)
        optimizer = keras.optimizers.AdamW(
            schedule, weight_decay=WEIGHT_DECAY, global_clipnorm=CLIPPING_NORM
        )
        optimizer.exclude_from_weight_decay(var_names=["bias", "gamma", "beta"])
        model.compile(
            optimizer=optimizer, loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        )
        batches = load(training).shuffle(count, options["random_seed"]).batch(batch_size).repeat()
        model.fit(batches, epochs=1, steps_per_epoch=steps, verbose=0)
        # A tuple of one element, because Keras would read a pair as inputs and labels.
        texts = load(development).batch(batch_size).map(lambda texts, labels: (texts,))
        logits = model.predict(texts, verbose=0)
        return logits.argmax(-1).tolist()
