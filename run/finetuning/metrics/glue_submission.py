"""Prediction files in the format of the GLUE benchmark's server."""

import os

from bert_tf.files import new_file

FILES = {
    "cola": "CoLA.tsv",
    "sst-2": "SST-2.tsv",
    "mrpc": "MRPC.tsv",
    "sts-b": "STS-B.tsv",
    "qqp": "QQP.tsv",
    "mnli": "MNLI-m.tsv",
    "mnli-mm": "MNLI-mm.tsv",
    "qnli": "QNLI.tsv",
    "rte": "RTE.tsv",
    "wnli": "WNLI.tsv",
    "ax": "AX.tsv",
}
# STS-B's server rejects other values.
LOWEST_SIMILARITY = 0
HIGHEST_SIMILARITY = 5


def write(folder, task, guids, predictions):
    """Writes the task's file, with the columns index and prediction.

    Args:
      folder: Path of the directory to write to.
      task: ClassificationTask. A task of GLUE.
      guids: Sequence of str. IDs of the examples, which end in "-" and the row's index.
      predictions: int [n] label IDs, or float [n] predicted numbers.

    Returns:
      Path of the file.
    """
    path = os.path.join(folder, FILES[task.name])
    if task.regression:
        values = [
            f"{min(max(value, LOWEST_SIMILARITY), HIGHEST_SIMILARITY):.3f}"
            for value in predictions.tolist()
        ]
    else:
        values = [task.labels[label] for label in predictions.tolist()]
    with new_file(path) as file:
        file.write("index\tprediction\n")
        file.writelines(
            f"{guid.rsplit('-', 1)[1]}\t{value}\n"
            for guid, value in zip(guids, values, strict=True)
        )
    return path
