"""The base class of encoders and task models, which creates a model from a checkpoint and saves it.

Keras saves models in `.keras` files and SavedModels, as the arguments of their constructors.
"""

from collections.abc import Mapping

import tensorflow as tf

from bert_tf.errors import InputError
from bert_tf.features import FEATURES
from bert_tf.keras_support import pretrained
from bert_tf.saved_objects import SavedLayer

OURS = "bert_tf."  # Prefix of the module names of this package.


class KerasModel:
    """A base class of encoders and task models, which are called with a dict of features.

    Their config is the arguments of their constructor, and the frozen layers. Hooks and replaced
    weights belong to training or to one request: a model with such changes cannot be saved.

    Attributes:
      kind: str. Kind of task, a key of bert_tf.tasks.KINDS.
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        # A user's subclass can have more to build.
        self.built = type(self).__module__.startswith(OURS)

    def get_config(self):
        """Returns the name and the frozen layers, a dict.

        A subclass adds its other arguments as plain values.

        Raises:
          InputError: If hooks are attached to a layer, or if weights were replaced or added.
        """
        _check_is_plain(self)
        frozen = [number for number, layer in enumerate(_list_layers(self)) if not layer.trainable]
        return {"name": self.name, "frozen_layers": frozen}

    @classmethod
    def from_config(cls, config):
        """Creates a model with newly initialized weights from the result of `get_config`."""
        config = dict(config)
        frozen = config.pop("frozen_layers", ())
        model = cls(**config)
        for number, layer in enumerate(_list_layers(model)):
            layer.trainable = number not in frozen  # Also sets the layers inside it, which follow.
        return model

    def build_from_config(self, config):
        """Makes a user's subclass create its weights by a call with int32 features.

        Keras would pass floats.
        """
        self.call(
            {
                name: tf.zeros([size or 1 for size in shape], tf.int32)
                for name, shape in config["input_shape"].items()
            }
        )
        self.built = True

    @property
    def _must_restore_from_config(self):
        """See SavedLayer; an encoder within a task model is not always called."""
        return self.save_spec() is None

    def _trackable_children(self, save_type="checkpoint", **kwargs):
        """Called by TensorFlow when it saves."""
        if save_type == "savedmodel":
            _check_is_plain(self)
        return super()._trackable_children(save_type, **kwargs)

    def __call__(self, features, *args, **kwargs):
        """Checks the features, and casts those of int64 to int32."""
        if type(self).__module__.startswith(OURS):  # A user's subclass can have other inputs.
            if not isinstance(features, Mapping) or any(name not in features for name in FEATURES):
                raise InputError(
                    f"must be a dict of {', '.join(FEATURES)}; BertTokenizer.encode makes it from "
                    "texts",
                    "features",
                )
            features = {
                name: tf.cast(value, tf.int32)
                if getattr(value, "dtype", None) == tf.int64
                else value
                for name, value in features.items()
            }
        return super().__call__(features, *args, **kwargs)

    def save_pretrained(
        self,
        path,
        tokenizer,
        *,
        labels=None,
        multi_label=None,
        pairs=None,
        max_seq_length=None,
        doc_stride=None,
        max_query_length=None,
        window_stride=None,
        max_windows=None,
    ):
        """Writes a directory that `bert_tf.load`, `from_pretrained`, and all scripts read.

        It contains the weights, the config, the vocabulary, and, for a fine-tuned model, a
        task.json. An option that is None has its value in the task.json that `from_pretrained`
        read, otherwise its default. All but `path` and `tokenizer` are for fine-tuned models.

        Args:
          path: str or os.PathLike. Directory; created if it does not exist. All files appear
            together.
          tokenizer: BertTokenizer of the model.
          labels: Sequence of str. For classifiers: names of the labels, in the order of the
            outputs; LABEL_0, and so on, by default. A BertClassifier with one output and without
            labels predicts a number.
          multi_label: bool. For classifiers: whether a text can have several labels.
          pairs: bool. For classifiers: whether an example is two texts.
          max_seq_length: int. Maximum length of inputs in tokens; 128 by default.
          doc_stride, max_query_length: int. For question answering; see `bert_tf.load`.
          window_stride, max_windows: int. For a BertLongTextClassifier: tokens between the starts
            of two windows of a text, and maximum number of windows.

        Raises:
          bert_tf.errors.InputError: If the directory contains another model, or if an argument does
            not match the model.
        """
        pretrained.save_model(
            self,
            path,
            tokenizer,
            labels=labels,
            multi_label=multi_label,
            pairs=pairs,
            max_seq_length=max_seq_length,
            doc_stride=doc_stride,
            max_query_length=max_query_length,
            window_stride=window_stride,
            max_windows=max_windows,
        )

    @classmethod
    def from_pretrained(
        cls, path, *, num_labels=None, config=None, fast=True, dtype=None, seed=0, **arguments
    ):
        """Creates an encoder or a model with the weights of a checkpoint.

        The head is included if the checkpoint has the same task.

        Otherwise, the head has initial weights.

        Args:
          path: str or os.PathLike. Directory, prefix, or file of a checkpoint, local or remote
            (gs://): of the original BERT, this project's scripts, Hugging Face, or the Model
            Garden; see `bert_tf.checkpoints.open_checkpoint`.
          num_labels: int. For classifiers; None for the number of outputs of a fine-tuned
            checkpoint.
          config: BertConfig; None for the config next to the checkpoint. With a larger vocab_size,
            word embeddings after those of the checkpoint keep their initial values.
          fast: bool. Whether to create a `bert_tf.fast.FastEncoder` instead of a BertEncoder. It
            computes the same in less time, and zeros at padding; its shapes depend on the values of
            a batch, which TPUs do not support.
          dtype, seed: See BertEncoder.
          **arguments: Further arguments of the constructor, such as `dropout_rate` of a classifier.

        Raises:
          bert_tf.errors.InputError: If there is no checkpoint or config, if they are corrupted or
            do not match, or if `num_labels` is required.
          TypeError: If the constructor does not have an argument.
        """
        return pretrained.load_keras_model(
            cls,
            path,
            num_labels=num_labels,
            config=config,
            fast=fast,
            dtype=dtype,
            seed=seed,
            **arguments,
        )


def _list_layers(model):
    """Returns a model and the layers of this package inside it, outer ones first."""
    return [
        model,
        *(layer for layer in model.submodules if isinstance(layer, SavedLayer | KerasModel)),
    ]


def _check_is_plain(model):
    """Raises InputError if hooks are attached to a layer, or if weights were replaced or added."""
    for layer in reversed(_list_layers(model)):
        has_hooks = bool(getattr(layer, "hooks", ()))
        has_replaced = any(
            isinstance(child, tf.Variable) and vars(layer).get(name, child) is not child
            for name, child in layer._trackable_children().items()
        )
        if has_hooks or has_replaced or hasattr(layer, "adapters"):
            raise InputError(
                f"layer {layer.name!r} has a hook, or other weights than its constructor creates, "
                "such as adapters, which cannot be saved; remove them first"
            )
