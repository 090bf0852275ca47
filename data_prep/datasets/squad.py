"""The questions of a SQuAD file, and the positions of their answers in the words of the context."""

import bisect
import collections
import dataclasses
import re

from bert_tf.errors import InputError
from data_prep import tables

# The original BERT splits contexts only at these characters. U+202F is its narrow no-break space.
_WORD = re.compile("[^ \t\r\n\u202f]+")

_TYPE_NAMES = {
    list: "a list",
    str: "a string",
    int: "an integer",
    bool: "true or false",
    (str, int): "a string",
}


@dataclasses.dataclass(frozen=True, slots=True)
class Example:
    """A question about a context. Attributes have the names of the original BERT's `SquadExample`.

    Attributes:
      qas_id: str. ID of the question.
      question_text: str. The question.
      context: str. The text for the question.
      orig_answer_text: str. For training, the answer as written in the file; "" for a question
        without one.
      start_position, end_position: int. For training, the first and last word of `doc_tokens` that
        the answer overlaps; -1 for a question without one.
      is_impossible: bool. For training on SQuAD 2.0, whether the context has no answer.
      answers: Tuple of str. For evaluation, all correct answers, or None if the file has no
        answers.
    """

    qas_id: str
    question_text: str
    context: str
    orig_answer_text: str | None = None
    start_position: int | None = None
    end_position: int | None = None
    is_impossible: bool = False
    answers: tuple[str, ...] | None = None

    @property
    def doc_tokens(self):
        """The words of the context.

        Computed on each access, because they need ten times the context's memory.
        """
        return split_words(self.context)


def split_words(context):
    """Splits a context into words like the original BERT, a list of str without white space."""
    return _WORD.findall(context)


def read_examples(path, is_training, version_2_with_negative, counts=None):
    """Reads a SQuAD file, like the original BERT's `read_squad_examples`.

    Args:
      path: Path of a JSON file in SQuAD format; any path that TensorFlow can read (gs://...).
      is_training: bool. Whether answers are required. A question whose answer is not at its stated
        position is skipped and counted, as in the original BERT.
      version_2_with_negative: bool. Whether questions can have no answer (SQuAD 2.0).
      counts: Counter, or None. Its "not_found" increases by the questions skipped because their
        answer is not at its stated position, and its "empty" by the questions without a word, or
        about a context without one, which are kept.

    Returns:
      List of Example, in the order of the file.

    Raises:
      InputError: If the file is not JSON in SQuAD format, if a training question does not have
        exactly one answer, if two prediction questions have the same ID, or if there are no
        questions. The message names the location.
      OSError: If the file cannot be read.
    """
    examples = []
    counts = collections.Counter() if counts is None else counts
    for where, context, question in _read_questions(path):
        answers = question.get("answers")
        if answers is not None:
            answers = tuple(
                _get_field(answer, "text", str, f"{where}.answers[{index}]")
                for index, answer in enumerate(_get_field(question, "answers", list, where))
            )
        example = Example(
            str(_get_field(question, "id", (str, int), where)),
            _get_field(question, "question", str, where),
            context,
            answers=answers,
        )
        if is_training:
            example = _add_answer(example, question, where, version_2_with_negative)
            if example is None:
                counts["not_found"] += 1
                continue
        counts["empty"] += not (example.question_text.strip() and _WORD.search(context))
        examples.append(example)
    if not examples and counts["not_found"]:
        raise InputError(
            f"{path}: none of its {counts['not_found']} answers is at its answer_start in the "
            "context"
        )
    if not examples:
        raise InputError(f"{path}: contains no questions")
    repeated, count = collections.Counter(example.qas_id for example in examples).most_common(1)[0]
    if count > 1 and not is_training:
        raise InputError(f"{path}: two questions have the ID {repeated!r}; IDs must be unique")
    return examples


def _read_questions(path):
    """Yields (location in the file, context, question as a dict)."""
    if is_row_file(path):
        yield from _read_question_rows(path)
        return
    content = tables.read_json_value(path)
    for article_index, article in enumerate(_get_field(content, "data", list, path)):
        in_article = f"{path}: data[{article_index}]"
        for paragraph_index, paragraph in enumerate(
            _get_field(article, "paragraphs", list, in_article)
        ):
            where = f"{in_article}.paragraphs[{paragraph_index}]"
            context = _get_field(paragraph, "context", str, where)
            for index, question in enumerate(_get_field(paragraph, "qas", list, where)):
                if not isinstance(question, dict):
                    raise InputError(
                        f"{where}.qas[{index}]: must be an object with the keys id and question"
                    )
                yield f"{where}.qas[{index}]", context, question


def is_row_file(path):
    """Returns whether a file has a row per question, as `datasets` and pandas write SQuAD."""
    if not tables.has_objects(path):
        return False
    _, first = next(tables.read_objects(path), (0, {}))
    return bool(first) and "data" not in first


def _read_question_rows(path):
    """Yields (row in the file, context, question as a dict) of a file with a row per question."""
    for number, row in tables.read_objects(path):
        where = f"{path}:{number}"
        answers = row.get("answers")
        question = {name: row.get(name) for name in ("id", "question")}
        if answers is not None:
            if not isinstance(answers, dict):
                raise InputError(f"{where}: answers is {answers!r:.60}; must be an object of lists")
            texts = _get_field(answers, "text", list, f"{where}: answers")
            starts = _get_field(answers, "answer_start", list, f"{where}: answers")
            if len(texts) != len(starts):
                raise InputError(
                    f"{where}: answers have {len(texts)} texts, but {len(starts)} positions"
                )
            question["answers"] = [
                {"text": text, "answer_start": start}
                for text, start in zip(texts, starts, strict=True)
            ]
            question["is_impossible"] = not texts
        yield where, _get_field(row, "context", str, where), question


def _get_field(mapping, name, json_type, where):
    value = mapping.get(name) if isinstance(mapping, dict) else None
    if not isinstance(value, json_type):
        raise InputError(f"{where}: requires {name!r}, {_TYPE_NAMES[json_type]}, as in SQuAD files")
    return value


def _add_answer(example, question, where, version_2_with_negative):
    """Returns the example with its answer for training, or None if the context lacks the answer."""
    if version_2_with_negative:
        if "is_impossible" not in question:
            raise InputError(
                f"{where}: has no 'is_impossible', so it is not in SQuAD 2.0 format; unset "
                "`version_2_with_negative`"
            )
        if _get_field(question, "is_impossible", bool, where):
            return dataclasses.replace(
                example, orig_answer_text="", start_position=-1, end_position=-1, is_impossible=True
            )
    num_answers = len(example.answers or ())
    if num_answers != 1:
        hint = ""
        if not num_answers and not version_2_with_negative:
            hint = (
                "; for SQuAD 2.0, which has questions without answers, set "
                "`version_2_with_negative`"
            )
        raise InputError(
            f"{where}: has {num_answers} answers, but training requires exactly 1 per "
            f"question{hint}"
        )
    text = example.answers[0]
    start = _get_field(question["answers"][0], "answer_start", int, f"{where}.answers[0]")
    words = _find_answer_words(example.context, text, start)
    return words and dataclasses.replace(
        example, orig_answer_text=text, start_position=words[0], end_position=words[1]
    )


def _find_answer_words(context, text, start):
    """Returns (first, last), the words that an answer overlaps, or None if it is not at `start`.

    This includes empty answers and those outside the context, with which the original BERT fails.
    """
    cleaned = " ".join(text.split())
    if not cleaned or start < 0 or start + len(text) > len(context):
        return None
    words = list(_WORD.finditer(context))
    word_starts = [word.start() for word in words]
    first = bisect.bisect_right(word_starts, start) - 1
    last = bisect.bisect_right(word_starts, start + len(text) - 1) - 1
    if cleaned not in " ".join([word[0] for word in words][first : last + 1]):
        return None
    return first, last
