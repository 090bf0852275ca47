"""The task of a fine-tuned model in Hugging Face's config.json: its class, and its labels."""

from bert_tf.checkpoints.huggingface_config import CONFIG_NAME
from bert_tf.errors import InputError, name_file
from bert_tf.tasks import KINDS
from bert_tf.tasks.metadata import TaskMetadata

# Class of torch -> `activation` of TaskMetadata.
ACTIVATIONS = {None: None, "Identity": None, "Sigmoid": "sigmoid"}
DEFAULT_LABELS = 2  # Number of labels in transformers if config.json does not contain it.


def to_task(values, path):
    """Returns the kind and the labels of the model of a config.json.

    Args:
      values: Dict of its values.
      path: Path of the file, for error messages.

    Returns:
      TaskMetadata without other values; None if it has no task.

    Raises:
      InputError: If the labels are invalid.
    """
    architectures = values.get("architectures")
    kind = next(
        (
            kind
            for kind in KINDS.values()
            if isinstance(architectures, list)
            and any(name in architectures for name in kind.hugging_face)
        ),
        None,
    )
    if kind is None:
        return None
    problem_type = values.get("problem_type")
    labels = _labels(path, values) if kind.has_labels else ()
    if problem_type == "regression" and len(labels) > 1:
        raise InputError(
            f"{path}: problem_type is 'regression' with {len(labels)} outputs: only one is "
            "supported"
        )
    if kind.may_give_number and len(labels) == 1 and problem_type in (None, "regression"):
        labels = ()
    with name_file(path):
        return TaskMetadata(
            kind.name,
            None,
            None,
            labels,
            multi_label=problem_type == "multi_label_classification",
            activation=read_activation(_get_activation(values), path) if not labels else None,
            source=CONFIG_NAME,
        )


def _get_activation(values):
    """Returns the activation of a CrossEncoder of sentence-transformers before version 6."""
    settings = values.get("sentence_transformers")
    name = settings.get("activation_fn") if isinstance(settings, dict) else None
    return name or values.get("sbert_ce_default_activation_function")


def read_activation(name, path):
    """Returns the `activation` of TaskMetadata for the name of a class of torch, or None.

    Raises InputError with the path if this project does not support it.
    """
    short = None if name is None else str(name).rpartition(".")[2]
    if short not in ACTIVATIONS:
        raise InputError(
            f"{path}: activation_fn is {name!r}: only {' and '.join(filter(None, ACTIVATIONS))} "
            "are supported"
        )
    return ACTIVATIONS[short]


def get_task_settings(kind, labels=(), multi_label=False):
    """Returns the keys of a config.json that describe a task, a dict.

    For the arguments, see TaskMetadata.
    """
    kind = KINDS[kind]
    values = {"architectures": [kind.hugging_face[0]]}
    if kind.may_give_number:
        if multi_label:
            values["problem_type"] = "multi_label_classification"
        elif labels:
            values["problem_type"] = "single_label_classification"
        else:
            values["problem_type"] = "regression"
    if kind.has_labels:
        labels = labels or ("LABEL_0",)
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
    if (
        not names
        or not isinstance(names, dict)
        or {*names} != {str(number) for number in range(len(names))}
        or not all(type(name) in (str, int) for name in names.values())
    ):
        raise InputError(
            f"{path}: id2label is {names!r}: must map consecutive numbers, starting at 0, to names"
        )
    return tuple(str(names[str(number)]) for number in range(len(names)))
