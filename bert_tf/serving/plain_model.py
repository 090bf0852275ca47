"""A model in one file, which answers texts without TensorFlow: LiteRT, ONNX, or OpenVINO.

Its graphs compute numbers from rows of IDs. plain.py of each kind of task converts texts to rows,
and the numbers to the answer.
"""

import threading

import numpy as np

from bert_tf.errors import InputError
from bert_tf.features import FEATURES
from bert_tf.tasks import ANSWERS, KINDS
from bert_tf.tokenization.plain import PlainTokenizer, Row

MAX_ROWS = 32  # Per call of the graph, which limits the memory.
LENGTH_MULTIPLE = 8  # Lengths of batches, so that a runtime prepares few shapes.

# Cost of a call in positions. For BERT-Base on 2 cores, it is 3 or 4 with AVX2, from the times of
# graphs with one row; about 9 with AVX-512, estimated from the times of one sentence and of 8 x
# 128.
CALL = 8


class PlainModel:
    """A model that answers texts in any format that is not TensorFlow's.

    Attributes:
      kind: str. Kind of task, a key of bert_tf.tasks.KINDS.
      metadata: TaskMetadata.
    """

    def __init__(self, described, graphs):
        """Creates the model.

        Args:
          described: ModelDescription.
          graphs: Buckets or RowBatches, which run rows.
        """
        self.metadata = described.task
        self.kind = self.metadata.kind
        self._tokenizer = PlainTokenizer(
            described.vocabulary,
            self.metadata.do_lower_case,
            self.metadata.strip_accents,
            described.added_tokens,
        )
        self._graphs = graphs

    def __call__(self, **texts):
        """Responds to a request, which LoadedModel checks.

        Args:
          **texts: Lists of B str, one for each of the kind's `inputs`.

        Returns:
          Dict of arrays [B, ...] with the names, shapes, and types of the SavedModel's signature
          serving_default; strings are bytes.
        """
        return ANSWERS[self.kind](self.metadata, self._tokenizer, self._graphs, *texts.values())

    def compute_outputs(self, features):
        """Returns the outputs of the graphs for rows of IDs, to evaluate a model.

        They are not converted to predictions.

        Args:
          features: Dict of input_ids, input_mask, and segment_ids, int arrays [R, S]; padding is at
            the end of rows.

        Returns:
          Dict of output name to float32 array [R, ...]; for outputs per token [R, S, ...], with 0
          at padding.
        """
        counts = features["input_mask"].sum(axis=1)
        width = features["input_ids"].shape[1]
        rows = [
            Row(ids[:count].tolist(), segments[:count].tolist(), False)
            for ids, segments, count in zip(
                features["input_ids"], features["segment_ids"], counts, strict=True
            )
        ]
        per_position = KINDS[self.kind].per_position
        results = {}
        for index, (row, output) in enumerate(zip(rows, self._graphs.run(rows), strict=True)):
            for name, value in output.items():
                shape = value.shape
                count = None
                if name in per_position:
                    shape = [width, *shape[1:]]
                    count = len(row.ids)
                result = results.setdefault(name, np.zeros([len(rows), *shape], np.float32))
                result[index, :count] = value[:count]
        return results


class RowBatches:
    """Runs any number of rows of any length through one graph of any shape, in a thread at a time.

    Rows of similar length run together. The graph computes the outputs of
    `Servable.compute_numbers`, so a masked LM has no separate head.
    """

    has_head = False

    def __init__(self, compute, max_length):
        """Creates the batches.

        Args:
          compute: Function of a dict of input_ids, input_mask, and segment_ids, int32 [B, S], to a
            dict of output name -> array [B, ...].
          max_length: int. Maximum of S.
        """
        self._compute = compute
        self._max_length = max_length
        self._lock = threading.Lock()

    def run(self, rows):
        """Runs the model on a list of Row of tokenization.plain.

        Returns:
          List of dicts, one per row: output name -> array of that row, with padding.
        """
        results = [None] * len(rows)
        for numbers in list_batches([len(row.ids) for row in rows]):
            length = -(-len(rows[numbers[-1]].ids) // LENGTH_MULTIPLE) * LENGTH_MULTIPLE
            length = min(length, self._max_length)
            features = fill_features([rows[number] for number in numbers], len(numbers), length)
            with self._lock:
                outputs = self._compute(features)
            for index, number in enumerate(numbers):
                results[number] = {name: value[index] for name, value in outputs.items()}
        return results


def list_batches(lengths):
    """Returns lists of up to MAX_ROWS row numbers, each ascending by length.

    A longer row starts a new list where its padding of the earlier rows would cost more than a
    call.
    """
    groups = []
    for number in sorted(range(len(lengths)), key=lengths.__getitem__):
        group = groups[-1] if groups else []
        padding = len(group) * (lengths[number] - lengths[group[-1]]) if group else 0
        if not group or len(group) == MAX_ROWS or padding > CALL:
            groups.append([number])
        else:
            group.append(number)
    return groups


def fill_features(rows, batch_size, length):
    """Returns the features of up to `batch_size` Rows, with padding: int32 [batch_size, length]."""
    features = {name: np.zeros([batch_size, length], np.int32) for name in FEATURES}
    for index, row in enumerate(rows):
        count = len(row.ids)
        features["input_ids"][index, :count] = row.ids
        features["input_mask"][index, :count] = 1
        features["segment_ids"][index, :count] = row.segments
    return features


def check_can_be_plain(servable, format_name):
    """Raises InputError if a Servable reads windows of long texts, which plain.py does not."""
    if servable.metadata.window_stride:
        raise InputError(
            f"the model reads long texts in windows, which {format_name} files do not support; "
            "export a SavedModel instead, or train without windows"
        )
