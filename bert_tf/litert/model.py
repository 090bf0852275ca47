"""A .tflite file as a function from texts to predictions."""

import numpy as np

from bert_tf.litert.buckets import Buckets
from bert_tf.litert.metadata import read
from bert_tf.tasks import KINDS
from bert_tf.tokenization.plain import PlainTokenizer, Row


class LiteRTModel:
    """A model that export_saved_model wrote with `format`=litert.

    It loads fast, since it does not use TensorFlow. It can be used from several threads. The file's
    graphs then take turns; each uses `num_threads` cores. A graph is prepared on its first use,
    which takes a fraction of a second.

    Attributes:
      kind: str. Kind of task, a key of bert_tf.tasks.KINDS.
      metadata: TaskMetadata.
    """

    def __init__(self, path, num_threads=None):
        """Opens the file.

        Args:
          path: Path of a local .tflite file.
          num_threads: int. Threads per matrix multiplication; None for one per core.

        Raises:
          InputError: If the file has another format.
          OSError: If it cannot be read.
        """
        described = read(path)
        self.metadata = described.task
        self.kind = self.metadata.kind
        self._tokenizer = PlainTokenizer(
            described.vocabulary,
            self.metadata.do_lower_case,
            self.metadata.strip_accents,
            described.added_tokens,
        )
        self._buckets = Buckets(path, num_threads)

    def __call__(self, **texts):
        """Responds to a request, which LoadedModel checks.

        Args:
          **texts: Lists of B str, one for each of the kind's `inputs`.

        Returns:
          Dict of arrays [B, ...] with the names, shapes, and types of the SavedModel's signature
          serving_default; strings are bytes.
        """
        return KINDS[self.kind].answer(
            self.metadata, self._tokenizer, self._buckets, *texts.values()
        )

    def compute_outputs(self, features):
        """Returns the outputs of the graphs for rows of IDs, to evaluate a model.

        They are not converted to predictions.

        Args:
          features: Dict of input_ids, input_mask, and segment_ids, int arrays [N, S]; padding is at
            the end of rows.

        Returns:
          Dict of output name to float32 array [N, ...]; for outputs per token [N, S, ...], with 0
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
        for index, (row, output) in enumerate(zip(rows, self._buckets.run(rows), strict=True)):
            for name, value in output.items():
                shape = value.shape
                count = None
                if name in per_position:
                    shape = [width, *shape[1:]]
                    count = len(row.ids)
                result = results.setdefault(name, np.zeros([len(rows), *shape], np.float32))
                result[index, :count] = value[:count]
        return results
