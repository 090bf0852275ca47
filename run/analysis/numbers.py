"""A model's attention as files of numbers."""

import math

import numpy as np

from bert_tf.analysis.behaviors import MEASURES, NAMES
from bert_tf.files import new_file, to_json

PLACES = 6  # Decimal places in JSON: float32 has about seven digits.


def write_npz(path, heads, observations):
    """Writes arrays.

    heads: int64 [K, 2], layer and head of each matrix; measures: str [M], their names; for each text I, 0-based:
    text_I_attention float32 [K, S, S], text_I_measures float64 [K, M] (NaN if no token has one), text_I_pieces str [S],
    text_I_segments and text_I_words int64 [S], text_I_surfaces str [W].
    """
    arrays = {"heads": np.array(heads, np.int64), "measures": np.array(NAMES)}
    for number, each in enumerate(observations):
        arrays |= {f"text_{number}_{name}": value for name, value in (
            ("attention", each.attention), ("measures", each.measures), ("pieces", np.array(each.pieces)),
            ("segments", np.array(each.segments, np.int64)), ("words", each.words),
            ("surfaces", np.array(each.surfaces)))}
    with new_file(path, "wb") as file:
        np.savez_compressed(file, **arrays)


def write_json(path, heads, observations):
    """Writes one JSON object: "heads" [[layer, head], ...], "measures" [names], and "texts", a list of objects.

    Each text has "texts", "pieces", "segments", "words", "surfaces", "attention" [K][S][S], "measures" [K][M] (null if
    no token has one), and "answer", "expected", and "candidates" if they exist.
    """
    values = {"heads": heads, "measures": [measure.name for measure in MEASURES],
              "texts": [_to_json_values(each) for each in observations]}
    with new_file(path) as file:
        file.write(to_json(path, values, ensure_ascii=False) + "\n")


def _to_json_values(each):
    values = {"texts": each.request.texts, "part": each.part, "was_cut": each.was_cut, "pieces": each.pieces,
             "segments": each.segments, "words": each.words.tolist(), "surfaces": each.surfaces,
             "attention": each.attention.astype(np.float64).round(PLACES).tolist(),
             "measures": round_measures(each.measures), "answer": each.answer, "expected": each.request.expected}
    if each.candidates:
        values["candidates"] = [one and {"own": one.own, "best": one.best} for one in each.candidates]
    return {name: value for name, value in values.items() if value is not None}


def round_measures(measures, places=PLACES):
    """Converts rows of numbers to lists for JSON, with None for NaN."""
    return [[None if math.isnan(value) else round(value, places) for value in row] for row in measures.tolist()]
