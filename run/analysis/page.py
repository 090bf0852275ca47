"""The attention page: a single offline HTML file.

Texts are only embedded as JSON, without markup characters, and JavaScript inserts them as text. The
Content-Security-Policy allows only the page's own scripts and style sheet, but no style attributes,
and no loading of resources.
"""

import base64
import hashlib
import math
import os
import re

import numpy as np

from bert_tf.files import new_file, to_json
from run.analysis.behaviors import MEASURES

FOLDER = os.path.join(os.path.dirname(__file__), "web")
SCRIPTS = ("data.js", "drawing.js", "main.js")
MAX_TITLE = 60  # Characters.
DECIMALS = 4
MARKUP = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}  # JSON escapes.


def write(path, model, heads, observations):
    """Writes the page.

    Args:
      path: Path of the file.
      model: str. Name of the model.
      heads: List of (layer, head).
      observations: List of run.analysis.observing.Observation.
    """
    parts = {
        "STYLE": _read_web_file("style.css"),
        "SCRIPT": "\n".join(map(_read_web_file, SCRIPTS)),
    }
    parts |= {
        f"{name}_HASH": base64.b64encode(hashlib.sha256(parts[name].encode()).digest()).decode()
        for name in ("STYLE", "SCRIPT")
    }
    data = to_json(
        path,
        {
            "model": model,
            "heads": heads,
            "texts": [_to_page_values(each) for each in observations],
            "measures": [
                {
                    "name": each.name,
                    "title": each.title,
                    "help": each.help,
                    "behavior": each.is_behavior,
                }
                for each in MEASURES
            ],
        },
        separators=(",", ":"),
    )
    parts["DATA"] = data.translate(str.maketrans(MARKUP))
    # Not within inserted text.
    before, after = (
        re.sub("@@([A-Z_]+)@@", lambda match: parts[match[1]], text)
        for text in _read_web_file("page.html").split("@@MATRICES@@")
    )
    with new_file(path) as file:
        file.write(before)
        for number, each in enumerate(observations):
            file.write(f'<script type="text/plain" id="attention-{number}">')
            file.write(base64.b64encode(quantize_attention(each.attention).tobytes()).decode())
            file.write("</script>\n")
        file.write(after)


def quantize_attention(attention):
    """Converts probabilities, float [...], to bytes.

    They are square roots in steps of 1 / 255, to distinguish small probabilities.
    """
    return np.round(np.sqrt(np.clip(attention, 0, 1)) * 255).astype(np.uint8)


def _round(value):
    """Rounds float in nested lists and dicts for JSON; NaN becomes None."""
    if isinstance(value, dict):
        return {name: _round(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_round(each) for each in value]
    if isinstance(value, float):
        return None if math.isnan(value) else round(value, DECIMALS)
    return value


def _read_web_file(name):
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return file.read()


def _to_page_values(each):
    """Converts an Observation to the page's JSON values."""
    special = {"[CLS]": "cls", "[SEP]": "sep"}
    return {
        "title": _format_title(each),
        "texts": each.texts,
        "pieces": each.pieces,
        "segments": each.segments,
        "words": each.words.tolist(),
        "surfaces": each.surfaces,
        "special": [special.get(piece, "") for piece in each.pieces],
        "measures": _round(each.measures.tolist()),
        "candidates": _round(each.candidates),
        "answer": _format_prediction(each),
    }


def _format_title(each):
    text = " | ".join(each.texts)
    shown = text if len(text) <= MAX_TITLE else f"{text[: MAX_TITLE - 1]}…"
    notes = [
        note
        for note in (each.question.source, each.part, "truncated" if each.was_cut else "")
        if note
    ]
    return f"{shown} ({', '.join(notes)})" if notes else shown


def _format_prediction(each):
    """Formats a prediction for the page, or returns None if there is none.

    The result is {"summary": str, "rows": [[name, number or text], ...]}.
    """
    if each.answer is None:
        return None
    answer = each.answer
    expected = each.question.expected
    if "tags" in answer:
        rows = [[word, tag] for word, tag in zip(answer["words"], answer["tags"], strict=True)]
        summary = f"{sum(tag != 'O' for tag in answer['tags'])} of {len(rows)} words are tagged"
    elif "answers" in answer:
        rows = [[row["text"], f"score {row['score']:.2f}"] for row in answer["answers"]]
        summary = answer["answer"] or "no answer"
    elif "choice" in answer:
        rows = [
            [choice, chance]
            for choice, chance in zip(each.question.choices, answer["probabilities"], strict=True)
        ]
        summary = f"choice {answer['choice']}"
    elif "probabilities" in answer:
        rows = [[label, chance] for label, chance in answer["probabilities"].items()]
        summary = answer.get("label", ", ".join(answer.get("labels", ())) or "no label")
    else:  # numbers
        values = [value for name, value in answer.items() if name != "was_cut"]
        rows = []
        summary = ", ".join(
            f"{value:.3f}" if isinstance(value, float) else str(value) for value in values
        )
    known = "" if expected is None else f"; expected: {expected or 'no answer'}"
    return {"summary": f"Prediction: {summary}{known}", "rows": rows}
