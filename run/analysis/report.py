"""The job of run.attention_report: a report of a model's attention to given texts."""

import os

import numpy as np

from bert_tf import files
from bert_tf.analysis.behaviors import MEASURES, NAMES
from bert_tf.errors import InputError
from bert_tf.files import new_file, to_json
from run.analysis import page, requests
from run.analysis.observing import Observer

PLACES = 6  # Decimal places in JSON: float32 has about seven digits.
MAX_BYTES = 1 << 28  # Maximum size of a page. Browsers open larger ones slowly or not at all.


def run(settings):
    """Observes the texts and writes the file.

    Args:
      settings: AttentionReportSettings, resolved.

    Raises:
      InputError: See Observer and run.analysis.requests. Also if the page would be too large.
    """
    observer = Observer(settings)
    if settings.wrong_examples:
        questions, num_rows = requests.find_wrong_predictions(settings, observer.metadata, observer.predict)
        print(f"selected {len(questions)} wrong predictions from {num_rows:,} examples")
    else:
        questions = requests.read_questions(settings, observer.kind)
    observations = _observe(observer, questions, settings.format == "html")
    write(settings.output_file, settings.format, settings.model.init_checkpoint, observer, observations)
    print(f"{settings.output_file}: {len(observations)} text{'s' * (len(observations) > 1)}, {len(observer.heads)} "
          f"heads, {files.at(settings.output_file).size():,} bytes")


def _observe(observer, questions, is_page):
    """Returns the Observations of Questions as a list; raises InputError if their page would be too large."""
    observations = []
    for request in questions:
        observations += observer(request)
        size = page.estimate_size(len(observer.heads), [len(each.pieces) for each in observations])
        if is_page and size > MAX_BYTES:
            raise InputError(f"a page of {len(observations)} texts would exceed {MAX_BYTES >> 20} MB; choose fewer "
                             f"texts, or a smaller `max_seq_length` than {observer.metadata.max_seq_length}")
    return observations


def write(path, file_format, checkpoint, observer, observations):
    """Writes Observations as html, npz, or json."""
    if file_format == "html":
        page.write(path, os.path.basename(os.path.normpath(checkpoint)), observer.heads, observations)
    else:
        {"npz": write_npz, "json": write_json}[file_format](path, observer.heads, observations)


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
             "measures": page.round_measures(each.measures, PLACES), "answer": each.answer,
             "expected": each.request.expected}
    if each.candidates:
        values["candidates"] = [one and {"own": one.own, "best": one.best} for one in each.candidates]
    return {name: value for name, value in values.items() if value is not None}
