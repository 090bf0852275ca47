"""The description of a trained model, which every format of a model contains.

Does not import TensorFlow.
"""

import dataclasses
import json
import re
import types
import typing

from bert_tf.errors import InputError
from bert_tf.tasks import KINDS
from bert_tf.tasks.kind import check_unique

TASK_FILE = "task.json"
SENTENCE_POOLINGS = ("mean", "max", "cls")  # Those of sentence-transformers.
POOLER_OUTPUT = "pooler"  # The pooling of the next sentence prediction: a dense layer on [CLS].
ACTIVATIONS = ("sigmoid",)
GENERIC_LABEL = re.compile(r"LABEL_\d+")  # Name of a label without a name in transformers.
_TYPE_NAMES = {
    str: "a name",
    int: "an integer",
    float: "a number",
    bool: "true or false",
    types.NoneType: "null",
}


@dataclasses.dataclass(frozen=True)
class TaskMetadata:
    """The task of a model, and all that loading it for predictions requires.

    It is in the task.json next to a checkpoint, in a LiteRT file, and in assets.extra/ of a
    SavedModel, always as the same JSON. None stands for an unknown or unused value, which the JSON
    omits. `Kind.fields` lists the fields of a kind and their defaults. A task.json of a training
    run lacks the fields that only predictions use.

    Raises:
      InputError: If a value has the wrong type, the kind is unknown, or a label occurs twice.
    """

    kind: str  # Key of bert_tf.tasks.KINDS.
    max_seq_length: int | None  # Maximum length of inputs in tokens, including [CLS] and [SEP].
    do_lower_case: bool | None  # Casing of the tokenizer.
    # Names in the order of their IDs; empty for regressions, span labelers, and multiple choice.
    labels: tuple[str, ...] = ()
    # Whether an example of a classifier, an encoder, or a masked LM is two texts.
    pairs: bool | None = None
    multi_label: bool = False  # Whether a text can have several of the labels.
    # Span labelers: tokens between the starts of two windows of a context; maximum lengths of
    # questions and answers in tokens; whether a question can have no answer; score difference above
    # which it has none.
    doc_stride: int | None = None
    max_query_length: int | None = None
    max_answer_length: int | None = None
    version_2_with_negative: bool | None = None
    null_score_diff_threshold: float | None = None
    top_k: int | None = None  # Candidates per [MASK], or answers per question.
    # Whether a masked LM has a trained head for the next sentence.
    next_sentence: bool | None = None
    # Encoders: pooling of the last layer's outputs to a text's embedding, one of SENTENCE_POOLINGS
    # or POOLER_OUTPUT; whether embeddings are divided by their L2 norm.
    sentence_pooling: str | None = None
    normalize: bool | None = None
    truncate_dim: int | None = None  # Number of first elements of embeddings to keep.
    # Function of the number of a classifier without labels, one of ACTIVATIONS, or None.
    activation: str | None = None
    # Whether the tokenizer removes accents; None for `do_lower_case`. A value equal to
    # `do_lower_case` becomes None.
    strip_accents: bool | None = None
    # Classifiers that read long texts in windows: pooling of the logits; tokens between the starts
    # of two windows of a text; maximum number of windows of a text.
    window_pooling: str | None = None
    window_stride: int | None = None
    max_windows: int | None = None
    # Name of the file that contains the metadata; not part of the JSON.
    source: str = dataclasses.field(default=TASK_FILE, compare=False, repr=False)

    def __post_init__(self):
        if isinstance(self.labels, list):
            object.__setattr__(self, "labels", tuple(self.labels))
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            types = typing.get_args(field.type) or (field.type,)
            if field.name == "labels":
                is_right = isinstance(value, tuple) and all(
                    isinstance(label, str) for label in value
                )
                expected = "a list of names"
            else:
                is_right = type(value) in types or (type(value) is int and float in types)
                expected = " or ".join(_TYPE_NAMES[each] for each in types)
            if not is_right:
                raise InputError(f"{field.name} is {value!r:.80}: must be {expected}")
        for name, choices in (
            ("kind", KINDS),
            ("window_pooling", ("mean", "max", None)),
            ("sentence_pooling", (*SENTENCE_POOLINGS, POOLER_OUTPUT, None)),
            ("activation", (*ACTIVATIONS, None)),
        ):
            if getattr(self, name) not in choices:
                raise InputError(
                    f"{name} is {getattr(self, name)!r:.80}: must be one of "
                    f"{', '.join(filter(None, choices))}"
                )
        check_unique(self.labels)
        # Both are the same tokenizer, even if the value was set explicitly.
        if self.strip_accents == self.do_lower_case:
            object.__setattr__(self, "strip_accents", None)

    @property
    def has_generic_labels(self):
        """True if the labels have generic names from transformers: LABEL_0, and so on."""
        return bool(self.labels) and all(map(GENERIC_LABEL.fullmatch, self.labels))

    @classmethod
    def from_dict(cls, values, path):
        """Converts the content of the JSON file at `path`.

        Raises:
          InputError: If the content is not an object, if a key is unknown or missing, or if a value
            is invalid.
        """
        try:
            return cls(**values)
        except (TypeError, InputError) as error:
            raise InputError(f"{path}: is not a valid task file: {error}") from error

    def to_dict(self):
        """Returns a dict of the known values."""
        return {
            name: value
            for name, value in dataclasses.asdict(self).items()
            if value is not None and name != "source"
        }

    def to_json(self):
        """Returns the text of a task.json."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"
