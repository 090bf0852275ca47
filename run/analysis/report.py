"""The job of run.attention_report: a report of a model's attention to given texts.

Shape legend: LN heads of all layers, ME measures, S sequence, WO words.
"""

import os

import numpy as np

from bert_tf import files
from bert_tf.files import new_file
from run.analysis import page, questions
from run.analysis.behaviors import NAMES
from run.analysis.observing import Observer


def run(settings):
    """Observes the texts and writes the file.

    Args:
      settings: AttentionReportSettings, resolved.

    Raises:
      InputError: See Observer and run.analysis.questions.
    """
    observer = Observer(settings)
    if settings.wrong_examples:
        requested = questions.find_wrong_predictions(settings, observer)
        print(f"selected {len(requested)} wrong predictions")
    else:
        requested = questions.read_questions(settings, observer.kind, bool(observer.metadata.pairs))
    observations = [each for question in requested for each in observer(question)]
    path = settings.output_file
    if settings.format == "html":
        page.write(
            path,
            os.path.basename(os.path.normpath(settings.model.init_checkpoint)),
            observer.heads,
            observations,
        )
    else:
        write_npz(path, observer.heads, observations)
    texts = "text" if len(observations) <= 1 else "texts"
    num_cut = sum(each.was_cut for each in observations)
    cut = (
        f" ({num_cut} truncated to --max_seq_length={observer.metadata.max_seq_length})"
        if num_cut
        else ""
    )
    print(
        f"{path}: {len(observations)} {texts}{cut}, "
        f"{len(observer.heads)} heads, {files.at(path).size():,} bytes"
    )


def write_npz(path, heads, observations):
    """Writes arrays.

    heads: int64 [LN, 2], layer and head of each matrix; measures: str [ME], their names; for each
    text I, 0-based: text_I_attention float32 [LN, S, S], text_I_measures float64 [LN, ME] (NaN if
    no token has one), text_I_pieces str [S], text_I_segments and text_I_words int64 [S],
    text_I_surfaces str [WO].
    """
    arrays = {"heads": np.array(heads, np.int64), "measures": np.array(NAMES)}
    for number, each in enumerate(observations):
        arrays |= {
            f"text_{number}_{name}": value
            for name, value in (
                ("attention", each.attention),
                ("measures", each.measures),
                ("pieces", np.array(each.pieces)),
                ("segments", np.array(each.segments, np.int64)),
                ("words", each.words),
                ("surfaces", np.array(each.surfaces)),
            )
        }
    with new_file(path, "wb") as file:
        np.savez_compressed(file, **arrays)
