"""What a model is asked: texts that are given, lines of a file, rows of development data that it gets wrong."""

import dataclasses

import numpy as np

from bert_tf import files, model_folder
from bert_tf.cli import places
from bert_tf.errors import InputError
from bert_tf.files import read_json_object
from bert_tf.run_state import RUN_FILE
from bert_tf.tasks import KINDS
from data_prep.tasks import classification, multiple_choice, squad, tagging
from run.finetuning.label_order import labels_of_model
from run.finetuning.settings import TuningSettings

SEPARATOR = " ||| "
ROWS_AT_A_TIME = 64  # of development data, answered together


@dataclasses.dataclass(frozen=True)
class Request:
    """A text, a pair, or a text with choices.

    Attributes:
      text_a: str; of a span labeler the question.
      text_b: str or None; of a span labeler the context.
      choices: of multiple choice, tuple of str.
      expected: the right answer in words, None where it is not known.
      source: where it is from, "" if it was given.
    """

    text_a: str
    text_b: str | None = None
    choices: tuple = ()
    expected: str | None = None
    source: str = ""

    @property
    def texts(self):
        """All its texts, a list of str."""
        return [self.text_a, *([self.text_b] if self.text_b is not None else []), *self.choices]

    def check(self, kind, argument="`text_b`"):
        """This Request; InputError, naming the second text by `argument`, where it does not fit a kind."""
        KINDS[kind].question(self.text_a, self.text_b, self.choices, argument)
        return self


def given(looked_at, kind):
    """The Requests that LookedAtSettings with `text` or `input_file` name; InputError where texts do not fit `kind`."""
    if looked_at.input_file:
        decoder = files.LineDecoder()
        found = list(_lines(looked_at.input_file, looked_at.max_texts, kind, decoder))
        decoder.tell(looked_at.input_file)
        return found
    first, second = (list(map(_without_other_bytes, texts)) for texts in (looked_at.text, looked_at.text_b))
    if KINDS[kind].takes_choices:
        if len(first) != 1 or len(second) < 2:
            raise InputError("of multiple choice one `text` is required, and at least two `text_b`, its choices")
        return [Request(first[0], choices=tuple(second))]
    if second and len(second) != len(first):
        raise InputError(f"`text_b` is given {len(second)} times, `text` {len(first)} times: each pair needs both")
    return [Request(text, other).check(kind) for text, other in zip(first, second or [None] * len(first), strict=True)]


def _lines(path, most, kind, decoder):
    """Yields the Requests of the first lines of a file that are not empty; decoder: bert_tf.files.LineDecoder."""
    found = 0
    with files.open_bytes(path) as file:
        for number, line in enumerate(file, start=1):
            text = decoder(line, number == 1).strip()
            if not text:
                continue
            first, *others = text.split(SEPARATOR)
            if not KINDS[kind].takes_choices and others:
                others = [SEPARATOR.join(others)]
            place = f"line {number}"
            if KINDS[kind].takes_choices:
                if len(others) < 2:
                    raise InputError(f"{path}:{number}: of multiple choice ` ||| ` must stand between the text and "
                                     "each of at least two choices")
                yield Request(first, choices=tuple(others), source=place)
            else:
                yield Request(first, others[0] if others else None, source=place).check(
                    kind, f"{path}:{number}: a second text, after ` ||| `,")
            found += 1
            if found == most:
                return
    if not found:
        raise InputError(f"`input_file`={path}: holds no text")


def _without_other_bytes(text):
    """An argument without the bytes that are not UTF-8, which Python holds as surrogates."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "ignore")


def wrong(settings, served, answer):
    """The Requests of development data that a model gets wrong, the first `wrong_examples` of them, and the rows read.

    Of a regression, which gets nothing quite right, all rows are read and those that are furthest off come first.

    Args:
      settings: AttentionReportSettings.
      served: run.inference.loading.Served.
      answer: function from a list of Requests to their answers, as Kind.rows gives them.

    Raises:
      InputError: a model that was not fine-tuned; data that cannot be read, have no answers, or hold no wrong row.
    """
    kind, checkpoint = served.metadata.kind, settings.model.init_checkpoint
    if kind not in _ROWS:
        raise InputError(f"`wrong_examples`: {checkpoint} is no fine-tuned model, which could be wrong")
    path = model_folder.find_file(checkpoint, RUN_FILE)
    task = settings.data.task_settings(kind, read_json_object(path) if path else {})
    places.check(task, TuningSettings(do_eval=True))
    found, num_rows, most = [], 0, settings.looked_at.wrong_examples
    rows = _ROWS[kind](task, served.metadata)
    is_number = KINDS[kind].gives_number(served.metadata)
    while batch := [each for _, each in zip(range(ROWS_AT_A_TIME), rows, strict=False)]:
        for (request, right), answered in zip(batch, answer([each for each, _ in batch]), strict=True):
            num_rows += 1
            off = abs(answered["value"] - right) if is_number else float(not KINDS[kind].is_right(answered, right))
            if off:
                found.append((off, request))
        if not is_number and len(found) >= most:
            break
    if not found:
        raise InputError(f"`wrong_examples`: the model gets all {num_rows} rows right")
    found.sort(key=lambda each: -each[0])  # stable: rows that are merely wrong stay in their order
    return [request for _, request in found[:most]], num_rows


def _classifier(task, metadata):
    dataset = _dataset(task, metadata)
    examples = classification.read_examples(dataset, task.data_dir, "dev")
    for place, (guid, text_a) in enumerate(zip(examples.guids, examples.text_a, strict=True)):
        text_b = examples.text_b[place] if examples.text_b else None
        label = examples.labels[place]
        if dataset.regression:
            right, names = float(label), [f"{label:g}"]
        else:
            ids = np.flatnonzero(label) if dataset.label_separator else [label]
            right, names = ([labels[id_] for id_ in ids] for labels in (metadata.labels, dataset.labels))
            right = right if dataset.label_separator else right[0]
        yield Request(text_a, text_b, expected=", ".join(names), source=guid), right


def _dataset(task, metadata):
    """The data_prep.tasks.classification.ClassificationTask of settings, its labels in the order of the model's."""
    if task.task_name == "own":
        names = () if metadata.as_task.is_generic else metadata.labels
        return classification.own_task(
            task.data_dir, task.text_a_column, task.text_b_column, task.label_column, labels=names,
            regression=task.regression, label_separator=task.label_separator)
    dataset = classification.find_task(task.task_name)
    if dataset.name == "xnli":
        dataset = classification.xnli_task(*task.xnli_languages)
    if dataset.labels == metadata.labels:
        return dataset
    return dataclasses.replace(dataset, labels=labels_of_model(dataset.name, dataset.labels, metadata.labels))


def _tagger(task, metadata):
    del metadata
    sentences = tagging.read_sentences(task.dev_file, task.token_column, task.label_column)
    for words, labels, lines in zip(sentences.words, sentences.labels, sentences.lines, strict=True):
        yield Request(" ".join(words), expected=" ".join(labels), source=f"line {lines[0]}"), labels


def _span_labeler(task, metadata):
    del metadata
    examples = squad.read_examples(task.predict_file, False, task.version_2_with_negative)
    for example in examples:
        if example.answers is None:
            raise InputError(f"`predict_file`={task.predict_file}: has no answers to compare with")
        yield Request(example.question_text, example.context, expected=" / ".join(dict.fromkeys(example.answers)),
                      source=example.qas_id), example.answers


def _multiple_choice(task, metadata):
    del metadata
    read = multiple_choice.read_race if task.data_format == "race" else multiple_choice.read_swag
    questions = read(task.dev_file)
    if questions.labels is None:
        raise InputError(f"`dev_file`={task.dev_file}: has no labels to compare with")
    for guid, text_a, choices, label in zip(questions.guids, questions.text_a, questions.text_b, questions.labels,
                                            strict=True):
        yield Request(text_a, choices=tuple(choices), expected=f"choice {label}", source=guid), int(label)


_ROWS = {"classifier": _classifier, "token_classifier": _tagger, "span_labeler": _span_labeler,
         "multiple_choice": _multiple_choice}
