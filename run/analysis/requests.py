"""Requests to a model: texts from flags, lines of a file, rows of development data that it predicts incorrectly."""

from bert_tf import files
from bert_tf.cli import roles
from bert_tf.errors import InputError
from bert_tf.model_folder import task_metadata
from bert_tf.tasks import KINDS
from data_prep.tasks import DATA, Question
from run.finetuning.settings import TuningSettings
from run.serving.formats.request_files import SEPARATOR, split_pair

ROWS_AT_A_TIME = 64  # Development rows per batch.


def read_questions(texts, kind):
    """Returns the Questions from `text` or `input_file`; raises InputError if they do not match `kind`."""
    if texts.input_file:
        decoder = files.LineDecoder()
        questions = list(_read_lines(texts.input_file, texts.max_texts, kind, decoder))
        decoder.tell(texts.input_file)
        return questions
    first, second = (list(map(_drop_invalid_bytes, column)) for column in (texts.text, texts.text_b))
    if not second and any(SEPARATOR in text for text in first):
        return [_parse_line(text, kind, "`text`") for text in first]
    if KINDS[kind].takes_choices:
        if len(first) != 1 or len(second) < 2:
            raise InputError("multiple choice requires one `text` and, as its choices, at least two `text_b`")
        return [Question(first[0], choices=tuple(second))]
    if second and len(second) != len(first):
        raise InputError(f"`text_b` is set {len(second)} times, but `text` {len(first)} times; each pair requires both")
    return [_check(Question(text, other), kind, "`text_b`")
            for text, other in zip(first, second or [None] * len(first), strict=True)]


def _read_lines(path, most, kind, decoder):
    """Yields the Questions of the first non-empty lines of a file. `decoder`: bert_tf.files.LineDecoder."""
    num_questions = 0
    with files.at(path).open() as file:
        for number, line in enumerate(decoder.lines(file, path), start=1):
            text = line.strip()
            if not text:
                continue
            yield _parse_line(text, kind, f"{path}:{number}", f"line {number}")
            num_questions += 1
            if num_questions == most:
                return
    if not num_questions:
        raise InputError(f"`input_file`={path}: contains no text")


def _parse_line(text, kind, place, source=""):
    """Returns the Question of a text and others after ` ||| `; `place` is for error messages."""
    if KINDS[kind].takes_choices:
        first, *others = text.split(SEPARATOR)
        if len(others) < 2:
            raise InputError(f"{place}: multiple choice requires the text and at least two choices, separated by "
                             "` ||| `")
        return Question(first, choices=tuple(others), source=source)
    first, second = split_pair(text)
    return _check(Question(first, second, source=source), kind, f"{place}: a second text, after ` ||| `,")


def _check(question, kind, argument):
    """Returns a Question; raises InputError, naming its second text by `argument`, if it does not match a kind."""
    KINDS[kind].question(question.text_a, question.text_b, question.choices, argument)
    return question


def _drop_invalid_bytes(text):
    """Drops invalid UTF-8 bytes, which Python represents as surrogates, from an argument."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "ignore")


def find_wrong_predictions(settings, metadata, answer):
    """Returns the first `wrong_examples` Questions of development data predicted incorrectly, and the rows read.

    For a regression, which is never exactly correct, it reads all rows and returns those with the largest errors first.

    Args:
      settings: AttentionReportSettings.
      metadata: TaskMetadata of the model.
      answer: Callable from a list of Questions to their predictions, as from Kind.rows.

    Raises:
      InputError: If the model was not fine-tuned, if the data are invalid or unlabeled, or if all rows are correct.
    """
    kind, checkpoint = metadata.kind, settings.model.init_checkpoint
    if kind not in DATA:
        raise InputError(f"`wrong_examples`: requires a fine-tuned model, but {checkpoint} is not one")
    task = DATA[kind].Settings.from_model(task_metadata.read_run(checkpoint), settings.data)
    roles.check(task, TuningSettings(do_eval=True))
    errors, num_rows, most = [], 0, settings.texts.wrong_examples
    rows = DATA[kind](task, metadata.max_seq_length, metadata).questions()
    is_number = KINDS[kind].gives_number(metadata)
    while batch := [each for _, each in zip(range(ROWS_AT_A_TIME), rows, strict=False)]:
        for question, answered in zip(batch, answer(batch), strict=True):
            num_rows += 1
            off = abs(answered["value"] - question.right) if is_number else float(
                not KINDS[kind].is_right(answered, question.right))
            if off:
                errors.append((off, question))
        if not is_number and len(errors) >= most:
            break
    if not errors:
        raise InputError(f"`wrong_examples`: the model predicts all {num_rows} examples correctly")
    errors.sort(key=lambda each: -each[0])  # Stable: classification errors keep their order.
    return [question for _, question in errors[:most]], num_rows
