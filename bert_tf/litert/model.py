"""A .tflite file as a function from texts to answers."""

import numpy as np

from bert_tf.errors import InputError
from bert_tf.litert import metadata as metadata_file
from bert_tf.litert.buckets import Buckets
from bert_tf.tasks import KINDS
from bert_tf.tokenization.plain_tokenizer import PlainTokenizer
from bert_tf.tokenization.rows import check_request, rows_of


class LiteRTModel:
    """A model that export_saved_model wrote with `format`=litert; it starts in a moment, as nothing needs TensorFlow.

    Several threads may ask one model. The file's graphs then take turns; each uses `num_threads` cores. A graph is made
    ready when it is first needed, which takes a part of a second.

    Attributes:
      kind: what it does, a key of bert_tf.tasks.KINDS.
      metadata: Metadata.
      text_inputs: dict from the name of each input to its shape, as Servable.text_inputs.
    """

    def __init__(self, path, num_threads=None):
        """Args: path, a local .tflite file; num_threads, how many a matrix product uses, None for one a core.

        Raises:
          InputError: a file of another kind.
          OSError: it cannot be read.
        """
        self.metadata, vocabulary = metadata_file.read(path)
        self.kind = self.metadata.kind
        if self.kind not in KINDS:
            raise InputError(f"{path}: is a model of kind {self.kind!r}, which is not one of {', '.join(KINDS)}")
        self._tokenizer = PlainTokenizer(vocabulary, self.metadata.lower_case, self.metadata.strip_accents)
        self._buckets = Buckets(path, num_threads)
        self._ranks = KINDS[self.kind].inputs(self.metadata.pairs)
        self.text_inputs = {name: [None] * rank for name, rank in self._ranks.items()}

    def __call__(self, **texts):
        """Answers a request.

        Args:
          texts: lists or arrays of str or bytes by the names of `text_inputs`, as many examples in each.

        Returns:
          dict of arrays [B, ...]: names, shapes and types are those of the SavedModel's signature serving_default;
          strings are bytes.

        Raises:
          InputError: missing or unknown inputs, no texts in one, or inputs of different sizes.
        """
        values = check_request(self.kind, self._ranks, texts)
        return KINDS[self.kind].answer(self.metadata, self._tokenizer, self._buckets, *values.values())

    def numbers(self, features, rows_at_a_time=None, progress=None):
        """What the graphs give of rows of ids, before it is made answers of; for those who judge a model.

        Args:
          features: dict of input_ids, input_mask and segment_ids, int arrays [N, S]; real tokens come first in a row.
          rows_at_a_time: after how many rows to report.
          progress: function that takes the number of rows done since the last call.

        Returns:
          Dict from the names of outputs to float32 arrays [N, ...], of tokens [N, S, ...] with 0 at padding.
        """
        rows, width = rows_of(features), features["input_ids"].shape[1]
        per_position = KINDS[self.kind].per_position
        results, step = {}, rows_at_a_time or len(rows)
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            for place, (row, output) in enumerate(zip(part, self._buckets.run(part), strict=True), start):
                for name, value in output.items():
                    shape = [width, *value.shape[1:]] if name in per_position else value.shape
                    result = results.setdefault(name, np.zeros([len(rows), *shape], np.float32))
                    count = len(row.ids)
                    if name in per_position:
                        result[place, :count] = value[:count]
                    else:
                        result[place] = value
            if progress:
                progress(len(part))
        return results
