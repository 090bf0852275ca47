"""Questions with several choices, from SWAG's CSV files and RACE's JSON files.

They are Examples whose `text_b` is a list of choices, equally many for each question. Their guids
are the row index in SWAG, and the article ID and question number in RACE. Their labels are 0-based
numbers of the correct choices.

Each choice becomes a pair of texts. In SWAG, A is the sentence, and B is the beginning of its
continuation and an ending. In RACE, A is the article, and B is the question with an option, which
replaces any "_".
"""

import itertools
import os
import re

import numpy as np

from bert_tf import files
from bert_tf.errors import InputError
from bert_tf.files import replace_surrogates
from data_prep import tables
from data_prep.datasets.types import Examples


def read_swag(path, has_labels=True):
    """Reads a file with the columns of SWAG.

    They are named sent1, sent2, ending0, ending1, ..., and label if the file has answers.

    Args:
      path: Path of the file.
      has_labels: bool. Whether to read the answers, if there are any.

    Returns:
      Examples. Labels are None unless each question has an answer, as in SWAG's test file.

    Raises:
      InputError: If the file or a column is missing, if there are no rows, if a row has another
        number of columns, or if a label is not the number of an ending. The message names the file,
        and the line if applicable.
    """
    decoder = files.LineDecoder()
    rows = tables.read_rows(path, decoder)
    header = next(rows, (1, []))[1]
    first = tables.find_column("sent1", header, path)
    second = tables.find_column("sent2", header, path)
    endings = []
    while (name := f"ending{len(endings)}") in header:
        endings.append(header.index(name))
    if len(endings) < 2:
        raise InputError(
            f"{path}:1: columns ending0, ending1, ... are required; the columns are "
            f"{tables.list_names(header)}"
        )
    answers = (
        tables.find_column("label", header, path) if has_labels and "label" in header else None
    )
    cells = tables.CellReader(path)
    guids = []
    text_a = []
    text_b = []
    labels = []
    for number, (line, fields) in enumerate(rows):
        tables.check_width(path, line, fields, len(header))
        texts = {
            column: cells.read_text(fields[column], line, header[column])
            for column in (first, second, *endings)
        }
        # Written by pandas: its index has no name.
        guids.append(fields[0] if not header[0] else str(number))
        text_a.append(texts[first])
        text_b.append([f"{texts[second]} {texts[ending]}".strip() for ending in endings])
        if answers is not None:
            labels.append(_parse_swag_label(fields[answers], len(endings), f"{path}:{line}"))
    return _create_examples(path, guids, text_a, text_b, labels, decoder.num_garbled)


def read_race(path, has_labels=True):
    """Reads JSON files of one article each, with the keys of RACE.

    They are article, questions, options, and answers ("A", "B", ...).

    Args:
      path: Path of a file, or of a directory to search recursively for .json and .txt files, in
        order of name.
      has_labels: See `read_swag`.

    Returns:
      Examples. See `read_swag`.

    Raises:
      InputError: If there is no file, if a file is not JSON with these keys, if a question has a
        different number of options, or if its answer is not an option. The message names the file,
        and the question if applicable.
    """
    guids = []
    text_a = []
    text_b = []
    labels = []
    for file in _find_race_files(path):
        article = _read_article(file)
        answers = article.get("answers") if has_labels else None
        for number, (question, options) in enumerate(
            zip(article["questions"], article["options"], strict=True)
        ):
            where = f"{file}, question {number + 1}"
            if not isinstance(options, list) or not all(
                isinstance(text, str) for text in (question, *options)
            ):
                raise InputError(
                    f"{where}: the question must be a string, and its options a list of strings"
                )
            expected = len(text_b[0]) if text_b else len(options)
            if len(options) != expected or expected < 2:
                raise InputError(
                    f"{where}: must have {max(2, expected)} options, but has {len(options)}"
                )
            guids.append(
                replace_surrogates(f"{article.get('id', os.path.basename(file))}-{number}")
            )
            text_a.append(replace_surrogates(article["article"]))
            text_b.append(
                [replace_surrogates(_complete_question(question, option)) for option in options]
            )
            if answers is not None:
                labels.append(_parse_race_label(answers[number], len(options), where))
    return _create_examples(path, guids, text_a, text_b, labels)


READERS = {"swag": read_swag, "race": read_race}


def _parse_swag_label(text, num_choices, where):
    if text.strip() not in map(str, range(num_choices)):
        raise InputError(
            f"{where}: label {text!r}: must be the number of an ending, 0 to {num_choices - 1}"
        )
    return int(text)


def _find_race_files(path):
    entry = files.at(path)
    if not entry.is_dir():
        return [path]
    json_files = [
        file
        for file in entry.files_below()
        if file.endswith((".json", ".txt", ".json.gz", ".txt.gz"))
    ]
    if not json_files:
        raise InputError(f"{path}: contains no .json or .txt files")
    return json_files


def _read_article(path):
    """Reads the object in a RACE file, and checks it up to the lengths of its lists."""
    article = tables.read_json_value(path)
    types = {"article": str, "questions": list, "options": list}
    if not isinstance(article, dict) or not all(
        isinstance(article.get(key), each) for key, each in types.items()
    ):
        raise InputError(
            f"{path}: must be an object with the keys article (a string), questions, and options "
            "(lists)"
        )
    num_questions = len(article["questions"])
    if not isinstance(article.get("answers", []), list):
        raise InputError(f"{path}: answers must be a list")
    for key in ("options", "answers"):
        if key in article and len(article[key]) != num_questions:
            raise InputError(
                f"{path}: must have {num_questions} {key}, one per question, but has "
                f"{len(article[key])}"
            )
    return article


def _complete_question(question, option):
    """Returns a question with an option inserted in its gap, marked by "_", or appended."""
    if "_" in question:
        return re.sub("_+", lambda _: option, question, count=1)
    return f"{question} {option}"


def _parse_race_label(answer, num_choices, where):
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[:num_choices]
    if not (isinstance(answer, str) and len(answer) == 1 and answer in letters):
        raise InputError(f"{where}: answer {answer!r}: must be one of {', '.join(letters)}")
    return letters.index(answer)


def _create_examples(path, guids, text_a, text_b, labels, num_garbled=0):
    if not guids:
        raise InputError(f"{path}: contains no questions")
    num_empty = sum(not text.strip() for text in itertools.chain(text_a, *text_b))
    labels = np.array(labels, np.int32) if len(labels) == len(guids) else None
    return Examples(guids, text_a, text_b, labels, num_empty, num_garbled=num_garbled)
