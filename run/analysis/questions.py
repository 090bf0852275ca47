"""Questions to a model: texts from flags, lines of a file, or incorrectly predicted data."""

import dataclasses

import numpy as np

from bert_tf.checkpoints import ModelDirectory
from bert_tf.cli import roles
from bert_tf.errors import InputError
from bert_tf.tasks import KINDS, UNTRAINED_KINDS, MultipleChoice, SpanLabeler, TokenClassifier
from data_prep.tasks import DATA
from run.inference import request_files
from run.inference.request_files import SEPARATOR, drop_invalid_bytes, split_pair
from run.training.settings import ActionSettings


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
        """The texts in the order of a model's inputs: one, two, or one and its choices."""
        second = self.choices or self.text_b
        return [self.text_a] if second is None else [self.text_a, second]


def read_questions(settings, kind, pairs=False):
    """Returns the Questions of AttentionReportSettings.

    Raises InputError if they do not match a model of this kind, whose texts are `pairs` or not.
    """
    path = settings.input_file
    if not path:
        return [_parse_line(drop_invalid_bytes(text), kind, "`text`") for text in settings.text]
    allows_pairs = kind in UNTRAINED_KINDS  # A text or a pair, as the file has them.
    inputs = list(KINDS[kind].inputs(pairs and not allows_pairs))
    with request_files.open_requests(
        path, inputs, settings.requests.options, allows_pairs=allows_pairs
    ) as opened:
        if opened.requests is None:
            questions = [
                _parse_line(line.strip(), kind, f"{path}:{number}", f"line {number}")
                for number, line in enumerate(opened.lines, start=1)
                if line.strip()
            ]
        else:
            rows = [list(request.inputs.values()) for request in opened.requests]
            questions = [
                _to_question(texts, kind, f"row {number}")
                for number, texts in enumerate(rows, start=1)
                if any(texts)
            ]
    if not questions:
        raise InputError("contains no text", "input_file", path)
    return questions


def _to_question(texts, kind, source):
    """Returns the Question of the texts of a row, in the order of the inputs of a kind."""
    if kind == MultipleChoice.name:
        text, choices = texts
        return Question(text, choices=tuple(choices), source=source)
    return Question(*texts, source=source)


def _parse_line(text, kind, where, source=""):
    """Returns the Question of a text and others after ` ||| `; `where`: For error messages."""
    if kind == MultipleChoice.name:
        first, *others = text.split(SEPARATOR)
        if len(others) < 2:
            raise InputError(
                f"{where}: multiple choice requires the text and at least two choices, separated "
                "by ` ||| `"
            )
        return Question(first, choices=tuple(others), source=source)
    first, second = split_pair(text)
    if kind == SpanLabeler.name and second is None:
        raise InputError(
            f"{where}: a span labeler reads a question and its context, separated by ` ||| `"
        )
    if kind == TokenClassifier.name and second is not None:
        raise InputError(f"{where}: a token classifier reads a single text, without ` ||| `")
    return Question(first, second, source=source)


def find_wrong_predictions(settings, observer):
    """Returns the first `wrong_examples` Questions of development data predicted incorrectly.

    Args:
      settings: AttentionReportSettings.
      observer: run.analysis.observing.Observer of the model.

    Raises:
      InputError: If the model was not fine-tuned, if the data are invalid or unlabeled, or if all
        rows are correct.
    """
    metadata = observer.metadata
    kind = observer.kind
    model_path = settings.model.init_checkpoint
    if kind not in READERS:
        raise InputError(
            f"requires a fine-tuned model, but {model_path} is not one",
            "wrong_examples",
            settings.wrong_examples,
        )
    task = DATA[kind].settings_class.from_model(
        ModelDirectory.open(model_path).run_settings, settings.data.values()
    )
    roles.check_roles(task, ActionSettings(do_eval=True))
    wrong = []
    for question in READERS[kind](DATA[kind](task, metadata.max_seq_length, metadata)):
        if not KINDS[kind].is_right(observer.predict(question), question.right):
            wrong.append(question)
        if len(wrong) == settings.wrong_examples:
            break
    if not wrong:
        raise InputError(
            "the model predicts all examples correctly", "wrong_examples", settings.wrong_examples
        )
    return wrong


def read_classifier(data):
    """Yields the Questions of development data, with their correct answers.

    Args:
      data: data_prep.tasks.TaskData of the kind.

    Raises:
      InputError: If the data are invalid or have no answers.
    """
    examples = data.examples("dev")
    for index, (guid, text_a) in enumerate(zip(examples.guids, examples.text_a, strict=True)):
        text_b = examples.text_b[index] if examples.text_b else None
        names, right = _find_labels(data, examples.labels[index])
        yield Question(text_a, text_b, expected=", ".join(names), source=guid, right=right)


def read_token_classifier(data):
    """See `read_classifier`."""
    sentences = data.examples("dev")
    for words, labels, lines in zip(
        sentences.words, sentences.labels, sentences.lines, strict=True
    ):
        yield Question(
            " ".join(words), expected=" ".join(labels), source=f"line {lines[0]}", right=labels
        )


def read_span_labeler(data):
    """See `read_classifier`."""
    for example in data.examples("dev"):
        if example.answers is None:
            raise InputError(
                "contains no answers to compare with", "predict_file", data.settings.predict_file
            )
        yield Question(
            example.question_text,
            example.context,
            expected=" / ".join(dict.fromkeys(example.answers)),
            source=example.qas_id,
            right=example.answers,
        )


def read_multiple_choice(data):
    """See `read_classifier`."""
    examples = data.examples("dev")
    for guid, text_a, choices, label in zip(
        examples.guids, examples.text_a, examples.text_b, examples.labels, strict=True
    ):
        yield Question(
            text_a,
            choices=tuple(choices),
            expected=f"choice {label}",
            source=guid,
            right=int(label),
        )


def _find_labels(data, label):
    """Returns the names of a row's labels in the data, and the model's prediction for the row.

    The names are a list. The prediction is a label, a list of labels, or a number.
    """
    if data.dataset.regression:
        return [f"{label:g}"], float(label)
    is_several = data.dataset.is_multi_label
    names, right = (
        [labels[id_] for id_ in (np.flatnonzero(label) if is_several else [label])]
        for labels in ((*data.dataset.labels, "unknown label"), (*data.metadata.labels, None))
    )
    return names, right if is_several else right[0]


READERS = {
    "classifier": read_classifier,
    "token_classifier": read_token_classifier,
    "span_labeler": read_span_labeler,
    "multiple_choice": read_multiple_choice,
}
