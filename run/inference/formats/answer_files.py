"""What a model answered, as JSON lines or as TSV. Free of TensorFlow.

`rows_of` turns a batch of a model's outputs into one JSON object a request, in the words of its task:

  classifier            {"label": "yes", "probabilities": {"no": 0.1, "yes": 0.9}}; with several labels "labels", a
                        list; of a regression {"value": 3.2}
  token_classifier      {"words": [...], "tags": [...], "scores": [...]}
  span_labeler          {"answer": "...", "start": 0, "end": 9, "score": 7.1, "null_score_diff": -3.0, "answers": [
                        {"text": "...", "score": 7.1}, ...]}
  multiple_choice       {"choice": 0, "probabilities": [...]}
  masked_lm             {"masks": [[{"piece": "paris", "probability": 0.4}, ...], ...]}
  encoder               {"vector": [...]}, the pooled output

Each of them has "was_cut", but for a tagger that answers word by word.
"""

import contextlib
import json
import sys

import numpy as np

from bert_tf.files import new_file

PLACES = 6  # decimal places of a number: float32 has about seven digits
STANDARD_OUTPUT = "-"


def rows_of(kind, outputs):
    """The answers of a batch.

    Args:
      kind: of the model, a key of _ROWS.
      outputs: of its signature serving_default, dict of arrays [B, ...].

    Returns:
      List of B dicts that JSON can hold.
    """
    rows = _ROWS[kind](outputs)
    for row, was_cut in zip(rows, outputs["was_cut"], strict=True):
        row["was_cut"] = bool(was_cut)
    return rows


def _classifier(outputs):
    if "value" in outputs:
        return [{"value": _number(value)} for value in outputs["value"]]
    rows = []
    for place, values in enumerate(outputs["probabilities"]):
        names = [name.decode() for name in outputs["labels"][place]]
        if "has_label" in outputs:
            chosen = {"labels": [name for name, has in zip(names, outputs["has_label"][place], strict=True) if has]}
        else:
            chosen = {"label": outputs["label"][place].decode()}
        rows.append({**chosen, "probabilities": dict(zip(names, _numbers(values), strict=True))})
    return rows


def _tagger(outputs):
    return [{"words": _texts(words[:number]), "tags": _texts(tags[:number]), "scores": _numbers(scores[:number])}
            for words, tags, scores, number in zip(*map(outputs.get, (
                "words", "tags", "scores", "num_words")), strict=True)]


def _span_labeler(outputs):
    return [{"answer": outputs["answer"][place].decode(), "start": int(outputs["start"][place]),
             "end": int(outputs["end"][place]), "score": _number(outputs["score"][place]),
             "null_score_diff": _number(outputs["null_score_diff"][place]),
             "answers": [{"text": text.decode(), "score": _number(score)} for text, score in zip(
                 outputs["answers"][place], outputs["scores"][place], strict=True) if text]}
            for place in range(len(outputs["answer"]))]


def _multiple_choice(outputs):
    return [{"choice": int(choice), "probabilities": _numbers(probabilities)}
            for choice, probabilities in zip(outputs["choice"], outputs["probabilities"], strict=True)]


def _masked_lm(outputs):
    return [{"masks": [[{"piece": piece.decode(), "probability": _number(probability)}
                        for piece, probability in zip(outputs["pieces"][place, mask],
                                                      outputs["probabilities"][place, mask], strict=True)]
                       for mask in range(number)]}
            for place, number in enumerate(outputs["num_masks"])]


def _encoder(outputs):
    return [{"vector": _numbers(vector)} for vector in outputs["pooled_output"]]


_ROWS = {"classifier": _classifier, "token_classifier": _tagger, "span_labeler": _span_labeler,
         "multiple_choice": _multiple_choice, "masked_lm": _masked_lm, "encoder": _encoder}


def _number(value):
    return round(float(value), PLACES)


def _numbers(values):
    return np.round(values.astype(np.float64), PLACES).tolist()


def _texts(values):
    return [value.decode() for value in values]


@contextlib.contextmanager
def writer(path, is_table):
    """A function that writes a row, dict; the file appears under its name when the context ends without an error.

    Args:
      path: of the file; - for standard output.
      is_table: whether it is TSV, with a header; else JSON lines.
    """
    with contextlib.nullcontext(sys.stdout) if path == STANDARD_OUTPUT else new_file(path) as file:
        yield _TableWriter(file).write if is_table else _LineWriter(file).write


class _LineWriter:
    """JSON lines."""

    def __init__(self, file):
        self._file = file

    def write(self, row):
        """Writes a dict."""
        self._file.write(json.dumps(row, ensure_ascii=False) + "\n")


class _TableWriter:
    """Tab-separated values; a dict within a row becomes a column for each of its keys, a list stays JSON.

    In texts a backslash, tab or line break is written as in JSON: \\\\, \\t, \\n, \\r.
    """

    def __init__(self, file):
        self._file = file
        self._header = None

    def write(self, row):
        """Writes a dict, of the keys of the first."""
        cells = {}
        for name, value in row.items():
            if isinstance(value, dict):
                cells |= {f"{name}.{key}": each for key, each in value.items()}
            else:
                cells[name] = value
        if self._header is None:
            self._header = list(cells)
            self._file.write("\t".join(map(_escaped, self._header)) + "\n")
        self._file.write("\t".join(_cell(cells[name]) for name in self._header) + "\n")


def _cell(value):
    return _escaped(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _escaped(text):
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")
