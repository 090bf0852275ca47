"""A published task's labels in the order in which a model has them, which need not be the published one.

Models of Hugging Face's hub are trained with the label names of its data sets, or with none, and in any order.
"""

import re

from bert_tf.errors import InputError
from bert_tf.model_folder.tasks import GENERIC_LABEL

# What Hugging Face's data sets call labels that the published files have as 0 and 1.
NAMES = {
    "cola": {"unacceptable": "0", "acceptable": "1"},
    "sst-2": {"negative": "0", "positive": "1"},
    "mrpc": {"not_equivalent": "0", "equivalent": "1"},
    "qqp": {"not_duplicate": "0", "duplicate": "1"},
    "wnli": {"not_entailment": "0", "entailment": "1"},
}


def labels_of_model(task_name, labels, of_model):
    """A task's labels in the order of a model's outputs.

    Args:
      task_name: of the published task.
      labels: its labels, a tuple of str.
      of_model: the model's, a tuple of str.

    Returns:
      `labels` in another order, a tuple of str; the same for a model whose labels have no names.

    Raises:
      InputError: the model has other labels, or another number of them.
    """
    if len(of_model) == len(labels):
        if all(map(GENERIC_LABEL.fullmatch, of_model)):
            return labels
        known = {_plain(name): label for name, label in NAMES.get(task_name, {}).items()}
        known |= {_plain(label): label for label in labels}
        in_order = tuple(known.get(_plain(name)) for name in of_model)
        if {*in_order} == {*labels}:
            return in_order
    learned, needed = (", ".join(each) or "a number" for each in (of_model, labels))
    raise InputError(f"`task_name`={task_name}: the model was trained for another task, its labels are {learned}, "
                     f"those of the task {needed}")


def _plain(name):
    return re.sub(r"[^a-z0-9]", "", name.lower())
