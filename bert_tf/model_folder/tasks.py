"""The task of a fine-tuned model of Hugging Face, from its config.json."""

import dataclasses
import re

from bert_tf.errors import InputError
from bert_tf.files import read_json_object
from bert_tf.huggingface_config import CONFIG_NAME
from bert_tf.model_folder.places import find_file
from bert_tf.tasks import KINDS
from bert_tf.tasks.base import check_unique

PROBLEM_TYPES = (None, "regression", "single_label_classification", "multi_label_classification")
DEFAULT_LABELS = 2  # Number of labels in transformers if config.json does not contain it.
GENERIC_LABEL = re.compile(r"LABEL_\d+")  # Name of a label without a name in transformers.


@dataclasses.dataclass(frozen=True)
class Task:
    """The task of a model.

    Attributes:
      kind: Key of KINDS.
      labels: Names in the order of their IDs; empty for regressions and for tasks without labels.
      multi_label: Whether a text can have several of the labels.
    """

    kind: str
    labels: tuple[str, ...] = ()
    multi_label: bool = False

    @property
    def is_generic(self):
        """True if the labels have generic names from transformers: LABEL_0, and so on."""
        return bool(self.labels) and all(map(GENERIC_LABEL.fullmatch, self.labels))


def read_task(checkpoint):
    """Reads the Task from the config.json next to a checkpoint; returns None without one, or if it has no task.

    Raises:
      InputError: If the labels are invalid, with the path.
    """
    path = find_file(checkpoint, CONFIG_NAME)
    values = read_json_object(path) if path else {}
    architectures = values.get("architectures")
    kind = next((kind for kind in KINDS.values() if isinstance(architectures, list) and any(
        name in architectures for name in kind.hugging_face)), None)
    if kind is None:
        return None
    if not kind.has_labels:
        return Task(kind.name)
    problem_type, labels = values.get("problem_type"), _labels(path, values)
    if problem_type not in PROBLEM_TYPES:
        raise InputError(f"{path}: problem_type is {problem_type!r}: must be one of "
                         f"{', '.join(filter(None, PROBLEM_TYPES))}")
    if problem_type == "regression" and len(labels) > 1:
        raise InputError(f"{path}: problem_type is 'regression' with {len(labels)} outputs: only one is supported")
    is_regression = kind.may_give_number and len(labels) == 1 and problem_type in (None, "regression")
    return Task(kind.name, () if is_regression else labels, problem_type == "multi_label_classification")


def get_task_settings(task):
    """Returns the keys of a config.json that describe a Task, a dict."""
    kind = KINDS[task.kind]
    values = {"architectures": [kind.hugging_face[0]]}
    if kind.may_give_number:
        values["problem_type"] = ("multi_label_classification" if task.multi_label else
                                  "single_label_classification" if task.labels else "regression")
    if kind.has_labels:
        labels = task.labels or ("LABEL_0",)
        values["id2label"] = {str(number): label for number, label in enumerate(labels)}
        values["label2id"] = {label: number for number, label in enumerate(labels)}
    return values


def generic_labels(number):
    """Returns the names in transformers for this many labels without names, a tuple of str."""
    return tuple(f"LABEL_{label}" for label in range(number))


def _labels(path, values):
    """Returns the names of id2label, a tuple of str in the order of their IDs."""
    names = values.get("id2label")
    if names is None:
        number = values.get("num_labels", DEFAULT_LABELS)
        return generic_labels(number if type(number) is int else DEFAULT_LABELS)
    if not isinstance(names, dict) or {*names} != {str(number) for number in range(len(names))} or not all(
            isinstance(name, str) for name in names.values()):
        raise InputError(f"{path}: id2label is {names!r}: must map consecutive numbers, starting at 0, to names")
    labels = tuple(names[str(number)] for number in range(len(names)))
    if not labels:
        raise InputError(f"{path}: id2label is {{}}: must contain at least one label")
    try:
        check_unique(labels)
    except InputError as error:
        raise InputError(f"{path}: id2label {error}") from error
    return labels
