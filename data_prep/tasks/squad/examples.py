"""The questions of a SQuAD file, and where in the words of their context they are answered."""

import bisect
import dataclasses
import re

from bert_tf.errors import InputError
from bert_tf.files import read_json

# The original splits a context here, and nowhere else; U+202F is its narrow no-break space.
_WORD = re.compile("[^ \t\r\n\u202f]+")

_KINDS = {list: "a list", str: "a text", int: "a whole number", bool: "true or false", (str, int): "a text"}


@dataclasses.dataclass(frozen=True, slots=True)
class Example:
    """A question about a context; attributes have the names of the original's `SquadExample`.

    Attributes:
      qas_id: the question's id.
      question_text: the question.
      context: the text that it is about.
      orig_answer_text: for training, the answer as it stands in the file; "" for a question without one.
      start_position, end_position: for training, the first and the last word of `doc_tokens` that the answer
        touches; -1 for a question without one.
      is_impossible: for training on SQuAD 2.0, whether the context has no answer.
      answers: all answers that count as right, for evaluation; None where the file says nothing of answers.
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
        """The words of the context; made anew each time, because they take ten times the context's memory."""
        return split_words(self.context)


class Examples(list):
    """The Examples of a file, in its order, and what there was to say about it.

    Attributes:
      num_not_found: questions left out because their answer is not where the file says.
      num_empty: questions without a word, or about a context without one. They are kept.
    """

    num_not_found = 0
    num_empty = 0


def split_words(context):
    """The words of a context, as the original cuts it: a list of str without white space of the common kinds."""
    return _WORD.findall(context)


def read_examples(path, is_training, version_2_with_negative):
    """Reads a SQuAD file (the original's `read_squad_examples`).

    Args:
      path: JSON file of SQuAD's form; any that TensorFlow can read (gs://...).
      is_training: whether answers are needed. A question whose answer does not stand where the file says is
        left out and counted, as the original does.
      version_2_with_negative: whether questions may have no answer (SQuAD 2.0).

    Returns:
      Examples.

    Raises:
      InputError: naming the file, and in it the place, for what is not JSON of SQuAD's form; for a training question
        that has not one answer; for two questions to predict of the same id; for a file without questions.
      OSError: a file that cannot be read.
    """
    examples = Examples()
    for place, context, question in _questions(path):
        answers = question.get("answers")
        if answers is not None:
            answers = tuple(_field(answer, "text", str, f"{place}.answers[{index}]")
                            for index, answer in enumerate(_field(question, "answers", list, place)))
        example = Example(str(_field(question, "id", (str, int), place)), _field(question, "question", str, place),
                          context, answers=answers)
        if is_training:
            example = _with_answer(example, question, place, version_2_with_negative)
            if example is None:
                examples.num_not_found += 1
                continue
        examples.num_empty += not (example.question_text.strip() and _WORD.search(context))
        examples.append(example)
    if not examples:
        raise InputError(f"{path}: has no questions" if not examples.num_not_found else
                         f"{path}: none of its {examples.num_not_found} answers stands where answer_start says")
    if not is_training:
        _check_ids(path, examples)
    return examples


def _questions(path):
    """Yields (place in the file, context, question as a dict)."""
    for article_index, article in enumerate(_field(read_json(path), "data", list, path)):
        article_place = f"{path}: data[{article_index}]"
        for paragraph_index, paragraph in enumerate(_field(article, "paragraphs", list, article_place)):
            place = f"{article_place}.paragraphs[{paragraph_index}]"
            context = _field(paragraph, "context", str, place)
            for index, question in enumerate(_field(paragraph, "qas", list, place)):
                if not isinstance(question, dict):
                    raise InputError(f"{place}.qas[{index}]: a question with id and text is expected")
                yield f"{place}.qas[{index}]", context, question


def _field(mapping, name, kind, place):
    value = mapping.get(name) if isinstance(mapping, dict) else None
    if not isinstance(value, kind):
        raise InputError(f"{place}: {_KINDS[kind]} named {name!r} is expected, as in a SQuAD file")
    return value


def _with_answer(example, question, place, version_2_with_negative):
    """The example with its answer for training; None where that is not found in the context."""
    if version_2_with_negative:
        if "is_impossible" not in question:
            raise InputError(f"{place}: has no 'is_impossible', so this is no SQuAD 2.0: leave "
                             "`version_2_with_negative` out")
        if _field(question, "is_impossible", bool, place):
            return dataclasses.replace(example, orig_answer_text="", start_position=-1, end_position=-1,
                                       is_impossible=True)
    num_answers = len(example.answers or ())
    if num_answers != 1:
        hint = "" if num_answers or version_2_with_negative else (
            "; SQuAD 2.0, which has questions without, needs `version_2_with_negative`")
        raise InputError(f"{place}: {num_answers} answers: for training, each question should have exactly 1{hint}")
    text = example.answers[0]
    start = _field(question["answers"][0], "answer_start", int, f"{place}.answers[0]")
    words = _words_of_answer(example.context, text, start)
    return words and dataclasses.replace(example, orig_answer_text=text, start_position=words[0],
                                         end_position=words[1])


def _words_of_answer(context, text, start):
    """(first, last): numbers of the words that an answer touches; None where it does not stand at `start`."""
    cleaned = " ".join(text.split())
    if not cleaned or start < 0 or start + len(text) > len(context):
        return None
    words = list(_WORD.finditer(context))
    word_starts = [word.start() for word in words]
    first, last = (bisect.bisect_right(word_starts, position) - 1 for position in (start, start + len(text) - 1))
    if cleaned not in " ".join([word[0] for word in words][first : last + 1]):
        return None
    return first, last


def _check_ids(path, examples):
    seen = set()
    for example in examples:
        if example.qas_id in seen:
            raise InputError(f"{path}: two questions have the id {example.qas_id!r}, so their answers could not be "
                             "told apart")
        seen.add(example.qas_id)
