"""Predictions in the files that the GLUE benchmark's server takes."""

import os

from bert_tf.errors import InputError
from bert_tf.files import new_file

FILES = {"cola": "CoLA.tsv", "sst-2": "SST-2.tsv", "mrpc": "MRPC.tsv", "sts-b": "STS-B.tsv", "qqp": "QQP.tsv",
         "mnli": "MNLI-m.tsv", "mnli-mm": "MNLI-mm.tsv", "qnli": "QNLI.tsv", "rte": "RTE.tsv", "wnli": "WNLI.tsv"}
LOWEST_SIMILARITY, HIGHEST_SIMILARITY = 0, 5  # of STS-B, whose server refuses others


def check_task(name):
    """Raises InputError unless GLUE has a task of that name."""
    if name not in FILES:
        raise InputError(f"`glue_submission`: GLUE has no task {name}: it has {', '.join(FILES)}")


def write(folder, task, guids, predictions):
    """Writes the task's file, with the columns index and prediction, into `folder`.

    Args:
      folder: of the file.
      task: ClassificationTask, one of GLUE's.
      guids: of the examples, ending in "-" and the row's index.
      predictions: label ids, int [n], or numbers of a regression, float [n].

    Returns:
      The path of the file.
    """
    path = os.path.join(folder, FILES[task.name])
    if task.regression:
        values = [f"{min(max(value, LOWEST_SIMILARITY), HIGHEST_SIMILARITY):.3f}" for value in predictions.tolist()]
    else:
        values = [task.labels[label] for label in predictions.tolist()]
    with new_file(path) as file:
        file.write("index\tprediction\n")
        file.writelines(f"{guid.rsplit('-', 1)[1]}\t{value}\n" for guid, value in zip(guids, values, strict=True))
    return path
