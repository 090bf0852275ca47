"""The description of a kind of task, without TensorFlow."""

from typing import ClassVar

import numpy as np

from bert_tf.errors import InputError

TEXT = {"text": 1}
PAIR = {"text_a": 1, "text_b": 1}
MIN_PROBABILITY = 1e-30  # Lower bound before taking a logarithm.
MAX_WINDOWS = 64  # Maximum number of windows of a text, which limits the memory of a request.
DECIMALS = 6  # Digits after the decimal point of a number in JSON; float32 has about seven digits.


def check_unique(labels):
    """Raises InputError if a label occurs twice: predictions have one probability per name."""
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        raise InputError(f"contains the label {twice!r} twice; labels must be unique")


class Kind:
    """A kind of task. Each subclass is in task.py of the package of its name."""

    name: ClassVar[str]  # In task.json, and value of `--task`.
    # False if any checkpoint can serve as it, fine-tuned or not.
    is_fine_tuned: ClassVar[bool] = True
    # Model classes of transformers for this kind; the first is the one to write.
    hugging_face: ClassVar[tuple] = ()
    # Fields of TaskMetadata that not all kinds have -> their defaults for predictions.
    fields: ClassVar[dict] = {}
    # Whether a model without labels predicts a number (regression).
    may_give_number: ClassVar[bool] = False
    head_scope: ClassVar[str] = ""  # Prefix of the names of the head's variables.
    # Name prefixes of variables that do not affect the predictions.
    unused_variables: ClassVar[tuple] = ()
    # Outputs of the model that have a position axis -> this axis, negative.
    per_position: ClassVar[dict] = {}

    @property
    def has_labels(self):
        """True if task.json lists labels."""
        return "labels" in self.fields

    def num_outputs(self, metadata):
        """Returns the number of rows of the head's kernel: one per label, 1 without labels."""
        return len(metadata.labels) or 1

    def needs(self, variable):
        """Returns whether predictions depend on the variable with this name."""
        return not variable.startswith(self.unused_variables)

    def inputs(self, pairs=False):
        """Returns the inputs of serving_default.

        Args:
          pairs: bool. Whether an example is two texts; only for kinds whose metadata has this
            field.

        Returns:
          Dict of name -> rank, 1 for string [B], 2 for string [B, choices].
        """
        return PAIR if pairs and "pairs" in self.fields else TEXT

    def rows(self, outputs):
        """Converts the outputs of serving_default, arrays [B, ...], to JSON objects.

        Returns:
          List of B dicts, each with "was_cut" and the fields that the kind's `json_rows` describes.
        """
        rows = self.json_rows(outputs)
        for row, was_cut in zip(rows, outputs["was_cut"], strict=True):
            row["was_cut"] = bool(was_cut)
        return rows

    def json_rows(self, outputs):
        """Returns `rows` without "was_cut"."""
        raise NotImplementedError

    def is_right(self, row, expected):
        """Returns whether a prediction, one of `rows`, is the expected one."""
        raise NotImplementedError

    def to_logits(self, answer):
        """Converts a response of signature "ids" to the model's outputs, up to a constant."""
        return {"logits": np.log(np.maximum(answer["probabilities"], MIN_PROBABILITY))}


def add_article(kind):
    """Returns the name of a kind for messages: "a classifier", "an encoder"."""
    return f"an {kind}" if kind.startswith("e") else f"a {kind}"


def round_for_json(values):
    """Rounds float [n] to a list, or a scalar of NumPy to a float, with DECIMALS digits."""
    return np.round(values.astype(np.float64), DECIMALS).tolist()
