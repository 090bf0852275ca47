"""What every served model has in common: its three signatures, and the check of what clients send."""

from typing import ClassVar

import tensorflow as tf

from bert_tf.errors import InputError
from bert_tf.export.request_checks import after, check, check_features, check_same_size
from bert_tf.litert.metadata import Metadata
from bert_tf.tasks import KINDS
from bert_tf.tokenization.model_inputs import FEATURES, pack, to_dense

PAIR_EXAMPLE = {"text_a": ["The quick brown fox jumps over the lazy dog."],
                "text_b": ["A lazy dog is jumped over by a fox, which is quick and brown."]}


class Servable:
    """A model and its tokenizer as functions from a request to an answer; a subclass for each task.

    Signatures, B examples each, any number of them, none too:
      serving_default: strings, `text_inputs` says which. Texts are cut to max_seq_length pieces; "was_cut" bool [B]
        in the answer says where. Bytes that are not UTF-8 are dropped.
      ids: "input_ids", "input_mask", "segment_ids", int32 [B, S].
      tf_example: "examples" string [B], each a serialized tf.Example with int64 features of these names, of any one
        length each; shorter ones are padded.
    A request that cannot be answered fails alone, with InvalidArgumentError.

    Attributes:
      kind: str, the task's, a key of bert_tf.tasks.KINDS.
      text_inputs: dict from the name of each input of serving_default to its shape.
      example_texts: dict of the same names: a request to warm up with, in lists of str.
    """

    kind: ClassVar[str]
    example_texts: ClassVar = {"text": ["The quick brown fox jumps over the lazy dog."]}

    def __init__(self, model, tokenizer, *, pairs=False, max_seq_length=128, static_length=False):
        """Args:
          model: a model of bert_tf.models. Made with remove_padding it answers batches of mixed lengths faster.
          tokenizer: BertTokenizer that the model was trained with.
          pairs: whether an example is two texts, for a kind that may read one or two.
          max_seq_length: longest input in pieces, [CLS] and [SEP] included.
          static_length: whether inputs always have max_seq_length columns, as TPUs and XLA need; else texts are padded
            to the longest of a request.

        Raises:
          InputError: max_seq_length is under 4 or over the model's max_position_embeddings.
        """
        self.model = model
        self.tokenizer = tokenizer
        self.text_inputs = {name: [None] * rank for name, rank in KINDS[self.kind].inputs(pairs).items()}
        self._pairs = pairs
        if pairs:
            self.example_texts = PAIR_EXAMPLE
        self.max_seq_length = max_seq_length
        self.static_length = static_length
        self.config = getattr(model, "encoder", model).config
        self._answer_in_graph = None
        if not 4 <= max_seq_length <= self.config.max_position_embeddings:
            raise InputError(f"`max_seq_length`={max_seq_length}: it must be from 4 to max_position_embeddings, "
                             f"{self.config.max_position_embeddings}")

    def answer_texts(self, **texts):
        """The tensors of `text_inputs` -> dict of tensors [B, ...]."""
        features, was_cut = self.encode(*texts.values())
        return {**self.answered(features), "was_cut": was_cut}

    def answer(self, features):
        """Features int32 [B, S] -> dict of tensors [B, ...]."""
        raise NotImplementedError

    def answered(self, features):
        """What `answer` gives; within `signatures` by a call of the one graph that they share."""
        return self._answer_in_graph(features) if self._answer_in_graph else self.answer(features)

    def numbers(self, features):
        """Features int32 [B, S] of single rows -> dict of float32 tensors [B, ...], of which answers are made.

        LiteRT's graphs compute these; `bert_tf.litert` makes answers of them.
        """
        return self.model(features)

    def litert_metadata(self, **options):
        """The bert_tf.litert.Metadata of the model; `options` are those that the subclass has."""
        return Metadata(self.kind, self.max_seq_length, self.tokenizer.lower_case, self.tokenizer.strip_accents,
                        self.config.hidden_size, pairs=self._pairs, **options)

    def encode(self, text_a, text_b=None):
        """Strings [B] -> features and was_cut, as `model_inputs.pack` gives them."""
        if text_b is not None:
            text_a, text_b = check_same_size(text_a=text_a, text_b=text_b)
            text_b = self.tokenizer.tokenize(text_b)
        return self.pack(self.tokenizer.tokenize(text_a), text_b)

    def pack(self, first, second=None):
        """RaggedTensors int32 [B, (pieces)] -> features and was_cut, as `model_inputs.pack` gives them."""
        return pack(self.tokenizer, first, second, max_seq_length=self.max_seq_length, static_length=self.static_length)

    def signatures(self, *names):
        """Traces signatures; the model is traced once for all of them, which makes them smaller and quicker to load.

        Args:
          *names: str. Names of signatures; none for all.

        Returns:
          Dict of name -> concrete function, which takes its inputs by name.
        """
        functions = {
            "serving_default": (self._answer_to_texts, {
                name: tf.TensorSpec(shape, tf.string) for name, shape in self.text_inputs.items()}),
            "ids": (self._answer_to_ids, dict.fromkeys(FEATURES, tf.TensorSpec(self.ids_shape, tf.int32))),
            "tf_example": (self._answer_to_examples, {"examples": tf.TensorSpec([None], tf.string)}),
        }
        self._answer_in_graph = tf.function(
            tf.autograph.experimental.do_not_convert(self.answer),
            [dict.fromkeys(FEATURES, tf.TensorSpec(self.ids_shape, tf.int32))], autograph=False)
        try:
            return {name: _concrete(*functions[name]) for name in names or functions}
        finally:
            self._answer_in_graph = None

    def _answer_to_texts(self, *texts):
        return self.answer_texts(**dict(zip(self.text_inputs, texts, strict=True)))

    def _answer_to_ids(self, *features):
        return self.answered(check_features(dict(zip(FEATURES, features, strict=True)), self.config))

    def _answer_to_examples(self, serialized):
        return self.answered(check_features(self.parse(serialized), self.config))

    @property
    def ids_shape(self):
        """Shape of each input of the signature "ids"."""
        return [None, self.max_seq_length if self.static_length else None]

    def parse(self, serialized):
        """Serialized tf.Examples, string [B] -> features int32 [B, S]."""
        rows = parse_rows(serialized)
        static = self.ids_shape[-1]
        if static:
            checks = [check(rows["input_ids"].row_lengths() <= static, f"an example is longer than {static}")]
            rows = after(checks, rows)
        return {name: to_dense(value, 0, static) for name, value in rows.items()}

    def example_features(self):
        """Features int32 to warm up with, those of `example_texts`: dict of arrays in `ids_shape`."""
        features, _ = self.encode(*(tf.constant(texts) for texts in self.example_texts.values()))
        return features


def parse_rows(serialized):
    """Serialized tf.Examples, string [B] -> dict of FEATURES, RaggedTensors int32 [B, (S)] of the same row lengths."""
    parsed = tf.io.parse_example(serialized, dict.fromkeys(FEATURES, tf.io.RaggedFeature(tf.int64)))
    lengths = parsed["input_ids"].row_lengths()
    checks = [check(parsed[name].row_lengths() == tf.cast(lengths, parsed[name].row_splits.dtype),
                    f"{name} must be as long as input_ids in each example") for name in FEATURES]
    checks.append(check(lengths > 0, "an example has no input_ids"))
    for name in FEATURES:  # before they become int32, which would take 2^32 + 5 for 5
        checks += [check(parsed[name].values >= 0, f"{name} must not be negative"),
                   check(parsed[name].values <= tf.int32.max, f"{name} must be below 2^31")]
    return {name: tf.cast(rows, tf.int32).with_row_splits_dtype(tf.int64)
            for name, rows in after(checks, parsed).items()}


def _concrete(function, specs):
    """The concrete function of `function(*tensors)` that takes tensors by the names of `specs`."""
    named = [tf.TensorSpec(spec.shape, spec.dtype, name) for name, spec in specs.items()]
    # autograph=False alone leaves the layers to be searched for something to convert, which takes seconds.
    traced = tf.function(tf.autograph.experimental.do_not_convert(function), autograph=False)
    return traced.get_concrete_function(*named)
