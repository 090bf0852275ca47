"""A loaded model of any format. Does not import TensorFlow."""

import itertools
import typing
import warnings

import numpy as np

from bert_tf.errors import InputError
from bert_tf.serving.requests import check_request, to_texts
from bert_tf.tasks import KINDS, Encoder
from bert_tf.tasks.kind import TEXT

GENERAL_NAMES = ("text_a", "text_b")  # accepted for the first and the second input of any model


class Embeddings(typing.NamedTuple):
    """Embeddings of texts."""

    sentence_embedding: np.ndarray  # float32 [B, H].
    was_cut: np.ndarray  # bool [B]. Whether a text was truncated.


class LoadedModel:
    """A model of any kind of task and any format, with its tokenizer.

    Attributes:
      metadata: TaskMetadata of the model.
      kind: str. Kind of task, a key of bert_tf.tasks.KINDS.
      inputs: Tuple of str. Names of the texts of a request, in their order.
      path: str. Path of the model.
      limit: int. Maximum length of inputs in tokens, including [CLS] and [SEP].
      labels: Tuple of str or None. Names in the order of their IDs; None for a model without
        labels.
    """

    def __init__(self, metadata, path, answer, embed=None):
        """Creates a model.

        Args:
          metadata: TaskMetadata.
          path: str. Path of the model.
          answer: Function of a dict of `inputs` -> nested lists of str, all of the same size, that
            returns the outputs of serving_default; see `__call__`.
          embed: Function of a list of B str that returns Embeddings. None for exports, whose kind
            determines whether they return these.
        """
        self.metadata = metadata
        self.path = path
        self.kind = metadata.kind
        self.limit = metadata.max_seq_length
        self.labels = metadata.labels or None
        self._ranks = KINDS[self.kind].inputs(metadata.pairs)
        self.inputs = tuple(self._ranks)
        self._answer = answer
        self._embed = embed or self._embed_with_export
        self._has_warned = False  # about truncated texts

    def __call__(self, **texts):
        """Computes the response to a request as one batch.

        Args:
          **texts: Lists of B str, one per name in `inputs`; `choices` of multiple choice is a list
            of B lists of the same length. `text_a` and `text_b` are accepted for the first and the
            second input of any model.

        Returns:
          Dict of arrays [B, ...]: the outputs of the signature serving_default; strings are bytes.

        Raises:
          InputError: If an input is missing, unknown, not a list of texts, or has a different size
            than the first.
        """
        return self._answer(check_request(self.kind, self._ranks, self._rename_inputs(texts)))

    def predict(self, batch_size=32, **texts):
        """Computes predictions for any number of texts, in batches of similar length.

        Args:
          batch_size: int, at least 1.
          **texts: See `__call__`; examples can have different numbers of choices.

        Returns:
          List of dicts, one JSON object per example; see `Kind.rows`.

        Raises:
          InputError: See `__call__`.
        """
        texts = check_request(self.kind, self._ranks, self._rename_inputs(texts), is_ragged=True)
        rows = [None] * len(texts[self.inputs[0]])
        sizes = [_size(example) for example in zip(*map(texts.get, self.inputs), strict=True)]
        order = sorted(range(len(rows)), key=sizes.__getitem__)
        for _, group in itertools.groupby(order, key=lambda example: sizes[example][0]):
            for batch in _batches(list(group), batch_size):
                outputs = self._answer(
                    {name: [values[example] for example in batch] for name, values in texts.items()}
                )
                for example, row in zip(batch, KINDS[self.kind].rows(outputs), strict=True):
                    rows[example] = row
        return rows

    def encode(self, texts, batch_size=32):
        """Computes embeddings of texts.

        A model of sentence-transformers pools and normalizes as its directory says. Otherwise, the
        embedding is the mean of the last layer's outputs over all tokens, including [CLS] and
        [SEP], unless `sentence_pooling` selects another pooling. Predictions and exports of an
        encoder return the same embedding. Longer texts than the model's limit are truncated. The
        first call with such texts warns about them.

        Args:
          texts: List of N str.
          batch_size: int, at least 1.

        Returns:
          float32 array [texts, hidden_size].

        Raises:
          InputError: If this is an export of a task, which does not contain its encoder's outputs.
        """
        texts = to_texts("texts", texts)
        embeddings = [None] * len(texts)
        num_cut = 0
        by_length = sorted(range(len(texts)), key=lambda number: len(texts[number]))
        for batch in _batches(by_length, batch_size):
            outputs = self._embed([texts[number] for number in batch])
            num_cut += np.count_nonzero(outputs.was_cut)
            for number, embedding in zip(batch, outputs.sentence_embedding, strict=True):
                embeddings[number] = embedding
        if num_cut and not self._has_warned:
            self._has_warned = True
            # Not a note: the program that calls the library can filter warnings.
            warnings.warn(
                f"note: {self.path}: truncated {num_cut} of {len(texts)} texts to the model's "
                f"limit, {self.limit} tokens (`max_seq_length`)",
                stacklevel=2,
            )
        if not embeddings:
            return self._embed([]).sentence_embedding
        return np.array(embeddings, np.float32)

    def _embed_with_export(self, texts):
        """Returns Embeddings; raises InputError if the export does not contain them."""
        if self.kind != Encoder.name or self._ranks != TEXT:
            raise InputError(
                f"{self.path}: an exported {self.kind} of {' and '.join(self.inputs)} cannot "
                "compute text embeddings; load its checkpoint"
            )
        outputs = self._answer({"text": texts})
        return Embeddings(*map(outputs.get, Embeddings._fields))

    def _rename_inputs(self, texts):
        """Renames GENERAL_NAMES to the names of `inputs`."""
        general = {
            name: own
            for name, own in zip(GENERAL_NAMES, self.inputs, strict=False)
            if own not in texts
        }
        return {general.get(name, name): values for name, values in texts.items()}


def _batches(examples, batch_size):
    if batch_size < 1:
        raise InputError("must be at least 1", "batch_size", batch_size)
    return (examples[start : start + batch_size] for start in range(0, len(examples), batch_size))


def _size(example):
    """Returns (number of choices, characters) of the texts of an example."""
    choices = [text for part in example if isinstance(part, list) for text in part]
    others = [text for text in example if isinstance(text, str)]
    return len(choices), sum(map(len, choices)) + sum(map(len, others))
