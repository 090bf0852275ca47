"""The base class of served models: their three signatures, and checks of requests."""

from typing import ClassVar

import tensorflow as tf

from bert_tf.errors import InputError
from bert_tf.features import FEATURES
from bert_tf.tasks import KINDS
from bert_tf.tasks.metadata import TaskMetadata
from bert_tf.tokenization.model_inputs import join_rows, to_dense

EXAMPLE = "The quick brown fox jumps over [MASK] lazy dog."  # Each text of a warm-up request.


class Servable:
    """A model and its tokenizer as functions from a request to a response.

    Each kind of task has a subclass.

    Signatures for any number of examples B, including 0:
      serving_default: strings, see `text_inputs`. Texts are truncated to max_seq_length tokens, and
        "was_cut" bool [B] in the response is True for truncated texts. Invalid UTF-8 bytes are
        dropped.
      ids: "input_ids", "input_mask", "segment_ids", int32 [B, S].
      tf_example: "examples" string [B], serialized tf.Examples with int64 features of these names,
        of equal length within an example; shorter examples are padded.
    An invalid request fails with InvalidArgumentError without affecting others.

    Attributes:
      kind: str. Kind of task, a key of bert_tf.tasks.KINDS.
      model_class: Class of bert_tf.models.
      metadata: TaskMetadata with the fields of the kind and the casing of the tokenizer, as exports
        contain it.
      text_inputs: Dict of name of each input of serving_default to its shape.
      example_texts: Dict of the same names to nested lists of str: a warm-up request of one
        example.
    """

    kind: ClassVar[str]
    model_class: ClassVar[type]

    def __init__(self, model, tokenizer, metadata, *, static_length=False):
        """Creates the functions for a model.

        Args:
          model: Model from `create_model`. If its encoder removes padding, batches of mixed lengths
            are faster.
          tokenizer: BertTokenizer that the model was trained with. It determines the casing.
          metadata: TaskMetadata. Defaults of unset fields: see `fields` of the kind.
          static_length: bool. If True, inputs always have max_seq_length columns, as TPUs and XLA
            require; otherwise, texts are padded to the longest of a request.

        Raises:
          InputError: If max_seq_length is over the model's max_position_embeddings, or is too short
            for the longest question of a span labeler, 3 special tokens, and one more, or if the
            metadata do not match the model.
        """
        self.model = model
        self.tokenizer = tokenizer
        kind = KINDS[self.kind]
        known = {name: value for name, value in metadata.to_dict().items() if name in kind.fields}
        self.metadata = TaskMetadata(
            self.kind,
            metadata.max_seq_length,
            tokenizer.lower_case,
            strip_accents=tokenizer.strip_accents,
            **kind.fields | known,
        )
        self.text_inputs = {
            name: [None] * rank for name, rank in kind.inputs(self.metadata.pairs).items()
        }
        self.example_texts = {
            name: [EXAMPLE] if len(shape) == 1 else [[EXAMPLE] * 4]
            for name, shape in self.text_inputs.items()
        }
        self.static_length = static_length
        self.config = getattr(model, "encoder", model).config
        self.max_seq_length = metadata.max_seq_length
        min_length = 4 + (self.metadata.max_query_length or 0)
        if not min_length <= (self.max_seq_length or 0) <= self.config.max_position_embeddings:
            reason = " (`max_query_length` + 4)" if min_length > 4 else ""
            raise InputError(
                f"must be from {min_length}{reason} to max_position_embeddings, "
                f"{self.config.max_position_embeddings}",
                "max_seq_length",
                self.max_seq_length,
            )
        labels = self.metadata.labels
        if kind.has_labels and (len(labels) or 1) != model.num_labels:
            raise InputError(
                f"there are {len(labels)} labels, but the model has {model.num_labels} outputs"
            )

    @classmethod
    def create_model(cls, encoder, metadata):
        """Creates the model of the kind, by default a `model_class`.

        Args:
          encoder: BertEncoder.
          metadata: TaskMetadata.

        Returns:
          tf_keras.Model.
        """
        del metadata
        return cls.model_class(encoder)

    def answer_texts(self, **texts):
        """Computes the response for the tensors of `text_inputs`, a dict of tensors [B, ...]."""
        features, was_cut = self.encode(*texts.values())
        return {**self.answer(features), "was_cut": was_cut}

    def answer(self, features):
        """Computes a dict of tensors [B, ...] for features int32 [B, S]."""
        raise NotImplementedError

    def compute_outputs(self, features):
        """Computes the float32 outputs [B, ...] that responses are based on.

        LiteRT's graphs compute these for features int32 [B, S] of single rows, and plain.py of
        the kind converts them to responses.
        """
        return self.model(features)

    def compute_numbers(self, features):
        """Computes the numeric outputs of an export that takes IDs, from which plain.py answers.

        Args:
          features: Dict of FEATURES, int32 [B, S] of single rows.

        Returns:
          Dict of float32 or int32 tensors [B, ...], by default those of `compute_outputs`.
        """
        return self.compute_outputs(features)

    def encode(self, text_a, text_b=None):
        """Converts strings [B] to features and was_cut; see `model_inputs.join_rows`."""
        if text_b is not None:
            text_a, text_b = check_same_size(text_a=text_a, text_b=text_b)
            text_b = self.tokenize(text_b)
        return self.join_rows(self.tokenize(text_a), text_b)

    def tokenize(self, texts):
        """Tokenizes string [B] -> RaggedTensor int32 [B, (tokens)]."""
        return self.tokenizer.tokenize(texts)

    def join_rows(self, first, second=None):
        """Converts RaggedTensors int32 [B, (tokens)] to features and was_cut.

        See `model_inputs.join_rows`.
        """
        return join_rows(
            self.tokenizer,
            first,
            second,
            max_seq_length=self.max_seq_length,
            static_length=self.static_length,
        )

    def signatures(self, *names):
        """Traces the signatures with these names, by default all.

        The model is traced once for all of them, which makes them smaller and faster to load:
        within this method, `answer` is one graph.

        Returns:
          Dict of name -> concrete function.
        """
        ids = {name: tf.TensorSpec(self.ids_shape, tf.int32) for name in FEATURES}
        functions = {
            "serving_default": (
                self.answer_texts,
                {name: tf.TensorSpec(shape, tf.string) for name, shape in self.text_inputs.items()},
            ),
            "ids": (lambda **features: self.answer(check_features(features, self.config)), ids),
            "tf_example": (
                lambda examples: self.answer(check_features(self.parse(examples), self.config)),
                {"examples": tf.TensorSpec([None], tf.string)},
            ),
        }
        self.answer = tf.function(
            tf.autograph.experimental.do_not_convert(self.answer), [ids], autograph=False
        )
        try:
            return {name: trace(*functions[name]) for name in names or functions}
        finally:
            del self.answer

    def trace_numbers(self):
        """Traces `compute_numbers` as a function of rows, int32 [B, S], that converters can read.

        It has no strings and no assertions, which converters reject or drop: the IDs must be valid.

        Returns:
          Concrete function.
        """
        shape = [None, self.ids_shape[-1]]

        @tf.autograph.experimental.do_not_convert
        def compute(input_ids, input_mask, segment_ids):
            return self.compute_numbers(
                {"input_ids": input_ids, "input_mask": input_mask, "segment_ids": segment_ids}
            )

        return tf.function(compute, autograph=False).get_concrete_function(
            *(tf.TensorSpec(shape, tf.int32, name) for name in FEATURES)
        )

    @property
    def ids_shape(self):
        """Shape of each input of the signature "ids"."""
        return [None, self.max_seq_length if self.static_length else None]

    def parse(self, serialized):
        """Parses serialized tf.Examples, string [B], to features int64 [B, S]."""
        rows = parse_rows(serialized)
        static = self.ids_shape[-1]
        if static:
            is_short = rows["input_ids"].row_lengths() <= static
            rows = after([check_condition(is_short, f"an example is longer than {static}")], rows)
        return {name: to_dense(value, 0, static) for name, value in rows.items()}

    def example_features(self):
        """Returns warm-up features int32 of `example_texts`: dict of arrays with `ids_shape`."""
        features, _ = self.encode(*(tf.constant(texts) for texts in self.example_texts.values()))
        return features


def parse_rows(serialized):
    """Parses serialized tf.Examples, string [B].

    Returns:
      Dict of FEATURES: RaggedTensors int64 [B, (S)] of equal row lengths.
    """
    parsed = tf.io.parse_example(
        serialized, {name: tf.io.RaggedFeature(tf.int64) for name in FEATURES}
    )
    lengths = parsed["input_ids"].row_lengths()
    checks = [
        check_condition(
            parsed[name].row_lengths() == tf.cast(lengths, parsed[name].row_splits.dtype),
            f"{name} must be as long as input_ids in each example",
        )
        for name in FEATURES
    ]
    checks.append(check_condition(lengths > 0, "an example has no input_ids"))
    return {
        name: rows.with_row_splits_dtype(tf.int64) for name, rows in after(checks, parsed).items()
    }


def trace(function, specs):
    """Returns the concrete function of `function(**tensors)` for the tensors that `specs` names."""
    named = [tf.TensorSpec(spec.shape, spec.dtype, name) for name, spec in specs.items()]

    # With only autograph=False, AutoGraph would search the layers for code to convert, which takes
    # seconds.
    @tf.autograph.experimental.do_not_convert
    def check_and_call(*tensors):  # A request can have any shape, whatever its signature declares.
        return function(
            **{
                spec.name: tf.ensure_shape(tensor, spec.shape)
                for tensor, spec in zip(tensors, named, strict=True)
            }
        )

    return tf.function(check_and_call, autograph=False).get_concrete_function(*named)


def check_features(features, config):
    """Checks features int32 or int64 [B, S] from a client, and returns them as int32.

    Invalid features fail with InvalidArgumentError. Otherwise, inconsistent shapes, sequences over
    max_position_embeddings, and IDs out of range would cause unclear errors or, on some devices,
    wrong predictions.
    """
    ids = features["input_ids"]
    bounds = {"input_ids": config.vocab_size, "input_mask": 2, "segment_ids": config.num_segments}
    checks = [
        check_condition(tf.shape(ids)[-1] > 0, "input_ids have no columns"),
        check_condition(
            tf.shape(ids)[-1] <= config.max_position_embeddings,
            "input_ids have more columns than max_position_embeddings, "
            f"{config.max_position_embeddings}",
        ),
    ]
    for name, bound in bounds.items():
        value = features[name]
        checks += [
            check_condition(
                tf.shape(value) == tf.shape(ids), f"{name} must have the shape of input_ids"
            ),
            check_condition(value >= 0, f"{name} must not be negative"),
            check_condition(value < bound, f"{name} must be below {bound}"),
        ]
    return {name: tf.cast(value, tf.int32) for name, value in after(checks, features).items()}


def check_condition(condition, message):
    """Creates an op that fails with a message unless all of a bool tensor is True.

    The error is an InvalidArgumentError, which ends only the request. The assertions of
    tf.debugging create a conditional and two functions each, which would be half of "ids" and
    "tf_example".
    """
    return tf.raw_ops.Assert(condition=tf.reduce_all(condition), data=[message])


def after(checks, tensors):
    """Returns the dict `tensors`, to use after the assertions `checks` pass.

    In eager mode, assertions are None and have passed.
    """
    with tf.control_dependencies([check for check in checks if check is not None]):
        return {name: tf.identity(value) for name, value in tensors.items()}


def check_same_size(**texts):
    """Returns the tensors `texts`, and checks that all have the same number of examples.

    Otherwise, they fail with InvalidArgumentError.
    """
    (name, first), *others = texts.items()
    checks = [
        check_condition(
            tf.shape(value)[0] == tf.shape(first)[0],
            f"{other} must contain as many examples as {name}",
        )
        for other, value in others
    ]
    return after(checks, texts).values()
