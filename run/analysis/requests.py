"""Requests to a model: texts from flags, lines of a file, rows of development data that it predicts incorrectly."""

from bert_tf import files
from bert_tf.cli import roles
from bert_tf.errors import InputError
from bert_tf.model_folder import task_metadata
from bert_tf.tasks import KINDS
from data_prep.tasks import DATA
from run.analysis.questions import READERS, Question
from run.finetuning.settings import TuningSettings
from run.serving.formats.request_files import SEPARATOR, split_pair

ROWS_AT_A_TIME = 64  # Development rows per batch.


def read_questions(settings, kind):
    """Returns the Questions of AttentionReportSettings; raises InputError if they do not match `kind`."""
    if settings.input_file:
        decoder = files.LineDecoder()
        questions = list(_read_lines(settings.input_file, kind, decoder))
        decoder.tell(settings.input_file)
        return questions
    return [_parse_line(_drop_invalid_bytes(text), kind, "`text`") for text in settings.text]


def _read_lines(path, kind, decoder):
    """Yields the Questions of the non-empty lines of a file. `decoder`: bert_tf.files.LineDecoder."""
    num_questions = 0
    with files.at(path).open() as file:
        for number, line in enumerate(decoder.lines(file, path), start=1):
            text = line.strip()
            if not text:
                continue
            yield _parse_line(text, kind, f"{path}:{number}", f"line {number}")
            num_questions += 1
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
    KINDS[kind].question(first, second, (), f"{place}: a second text, after ` ||| `,")
    return Question(first, second, source=source)


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
    if kind not in READERS:
        raise InputError(f"`wrong_examples`: requires a fine-tuned model, but {checkpoint} is not one")
    task = DATA[kind].Settings.from_model(task_metadata.read_run(checkpoint), settings.data)
    roles.check(task, TuningSettings(do_eval=True))
    errors, num_rows, most = [], 0, settings.wrong_examples
    rows = READERS[kind](DATA[kind](task, metadata.max_seq_length, metadata))
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
