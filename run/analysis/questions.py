"""The labeled questions of a task's development data, one function per kind of task."""

import dataclasses

import numpy as np

from bert_tf.errors import InputError


@dataclasses.dataclass(frozen=True)
class Question:
    """A text, a pair, or a text with choices, and the correct answer if it is known.

    Attributes:
      text_a: str. For span labelers, the question.
      text_b: str or None. For span labelers, the context.
      choices: Tuple of str. Only for multiple choice.
      expected: str or None. The correct answer as text.
      source: str. Origin of the question, "" if it is not from a file.
      right: The correct answer in the form for `Kind.is_right`, or None if it is not known.
    """

    text_a: str
    text_b: str | None = None
    choices: tuple = ()
    expected: str | None = None
    source: str = ""
    right: object = None

    @property
    def texts(self):
        """All texts of the question, a list of str."""
        return [self.text_a, *([self.text_b] if self.text_b is not None else []), *self.choices]


def read_classifier(data):
    """Yields the Questions of development data, with their correct answers.

    Args:
      data: data_prep.tasks.TaskData of the kind.

    Raises:
      InputError: If the data are invalid or have no answers.
    """
    examples = data.examples("dev")
    for place, (guid, text_a) in enumerate(zip(examples.guids, examples.text_a, strict=True)):
        text_b = examples.text_b[place] if examples.text_b else None
        names, right = _find_labels(data, examples.labels[place])
        yield Question(text_a, text_b, expected=", ".join(names), source=guid, right=right)


def read_token_classifier(data):
    """See `read_classifier`."""
    sentences = data.examples("dev")
    for words, labels, lines in zip(sentences.words, sentences.labels, sentences.lines, strict=True):
        yield Question(" ".join(words), expected=" ".join(labels), source=f"line {lines[0]}", right=labels)


def read_span_labeler(data):
    """See `read_classifier`."""
    for example in data.examples("dev"):
        if example.answers is None:
            raise InputError(f"`predict_file`={data.settings.predict_file}: contains no answers to compare with")
        yield Question(example.question_text, example.context, expected=" / ".join(dict.fromkeys(example.answers)),
                       source=example.qas_id, right=example.answers)


def read_multiple_choice(data):
    """See `read_classifier`."""
    examples = data.examples("dev")
    for guid, text_a, choices, label in zip(examples.guids, examples.text_a, examples.text_b, examples.labels,
                                            strict=True):
        yield Question(text_a, choices=tuple(choices), expected=f"choice {label}", source=guid, right=int(label))


def _find_labels(data, label):
    """Returns a row's label, labels, or number: list of names in the data, and the model's prediction for it."""
    if data.dataset.regression:
        return [f"{label:g}"], float(label)
    is_several = bool(data.dataset.label_separator)
    names, right = ([labels[id_] for id_ in (np.flatnonzero(label) if is_several else [label])]
                    for labels in ((*data.dataset.labels, "unknown label"), (*data.metadata.labels, None)))
    return names, right if is_several else right[0]


READERS = {"classifier": read_classifier, "token_classifier": read_token_classifier,
           "span_labeler": read_span_labeler, "multiple_choice": read_multiple_choice}
