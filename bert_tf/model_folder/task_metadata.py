"""Reads and writes the TaskMetadata of a model: task.json next to its checkpoints.

For a fine-tuned model of Hugging Face, its config.json contains a part of it.
"""

import os

from bert_tf.errors import InputError, name_file
from bert_tf.files import new_file, read_json, read_json_object, read_text
from bert_tf.huggingface_config import CONFIG_NAME
from bert_tf.latest_checkpoint import RUN_FILE
from bert_tf.model_folder.directories import find_file
from bert_tf.model_folder.sentence_transformers import read_sentence_transformer
from bert_tf.tasks import KINDS, UNTRAINED_KINDS
from bert_tf.tasks.kind import check_unique
from bert_tf.tasks.metadata import TASK_FILE, TaskMetadata

DEFAULTS = {"max_seq_length": 128, "do_lower_case": True}  # The original's.
CASING = ("do_lower_case", "strip_accents")
# Fields that are read from task.json if the model serves another task.
SHARED_FIELDS = (*CASING, "max_seq_length")
# Fields that settings do not change; lengths can change.
FIXED_FIELDS = ("labels", "pairs", "multi_label", *CASING)
DEFAULT_LABELS = 2  # Number of labels in transformers if config.json does not contain it.


def keep(output_dir, metadata):
    """Writes task.json to `output_dir`."""
    with new_file(os.path.join(output_dir, TASK_FILE)) as file:
        file.write(metadata.to_json())


def read(checkpoint):
    """Reads the TaskMetadata next to a checkpoint, a directory or a prefix.

    Returns None if there is none.

    It is in the checkpoint's directory; for the weights in OUTPUT_DIR/best, it is in OUTPUT_DIR.
    Without a task.json, it is the task in Hugging Face's config.json.

    Raises:
      InputError: If a task.json is invalid, or if the labels in a config.json are.
    """
    path = find_file(checkpoint, TASK_FILE)
    return read_file(path) if path else read_hugging_face_task(checkpoint)


def read_to_serve(checkpoint):
    """Reads the TaskMetadata with which a model is served, or returns None.

    Like `read`, except that without a task.json, a model that sentence-transformers trained is a
    sentence encoder.

    Only predictions depend on its pooling, so fine-tuning accepts any.

    Raises:
      InputError: See `read` and `read_sentence_transformer`.
    """
    is_ours = find_file(checkpoint, TASK_FILE)
    return (None if is_ours else read_sentence_transformer(checkpoint)) or read(checkpoint)


def resolve(stored, kind, requested, defaults, checkpoint):
    """Returns the TaskMetadata with which a model is used for a kind of task.

    Args:
      stored: TaskMetadata of the model's directory, or None.
      kind: str.
      requested: Dict of explicit values.
      defaults: Dict of values that neither `stored` nor `requested` may contain.
      checkpoint: Argument and path of the model, for error messages: "`init_checkpoint`=mrpc".

    Raises:
      InputError: If the kind or a value contradicts `stored`.
    """
    resolved = DEFAULTS | defaults
    if stored:
        source = f"{stored.source} of {checkpoint}"
        if kind not in (stored.kind, *UNTRAINED_KINDS):
            raise InputError(f"conflicts with {source} ({stored.kind})", "task", kind)
        values = {
            name: value
            for name, value in stored.to_dict().items()
            if kind == stored.kind or name in SHARED_FIELDS
        }
        if "do_lower_case" in values:
            values.setdefault("strip_accents", values["do_lower_case"])
        for name in FIXED_FIELDS:
            if (
                name == "labels"
                and stored.has_generic_labels
                and len(requested.get(name, ())) == len(stored.labels)
            ):
                continue  # The labels do not have names yet.
            if name not in values or name not in requested or requested[name] == values[name]:
                continue
            if name == "labels":
                raise InputError(
                    f"`labels_file`: the labels {', '.join(requested[name])} conflict with "
                    f"{source} ({', '.join(values[name])})"
                )
            raise InputError(f"conflicts with {source} ({values[name]})", name, requested[name])
        resolved |= values
    return TaskMetadata(**resolved | requested | {"kind": kind})


def read_labels(path):
    """Reads `labels_file`, with a label name on each line.

    Raises InputError if it is empty or invalid.
    """
    labels = tuple(map(str.strip, read_text(path).splitlines()))
    if not labels:
        raise InputError(
            "is empty; omit it for a model that predicts a number", "labels_file", path
        )
    if "" in labels:
        raise InputError(
            f"line {labels.index('') + 1} is empty; each line is a label", "labels_file", path
        )
    try:
        check_unique(labels)
    except InputError as error:
        raise InputError(str(error), "labels_file", path) from error
    return labels


def read_file(path):
    """Reads the TaskMetadata of a task.json; raises InputError if it is invalid."""
    return TaskMetadata.from_dict(read_json(path), path)


def read_hugging_face_task(checkpoint):
    """Reads the kind and the labels of a model from its config.json.

    Returns:
      TaskMetadata without other values; None without a config.json, or if it has no task.

    Raises:
      InputError: If the labels are invalid.
    """
    path = find_file(checkpoint, CONFIG_NAME)
    values = read_json_object(path) if path else {}
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
            source=CONFIG_NAME,
        )


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
        or not all(isinstance(name, str) for name in names.values())
    ):
        raise InputError(
            f"{path}: id2label is {names!r}: must map consecutive numbers, starting at 0, to names"
        )
    return tuple(names[str(number)] for number in range(len(names)))


def read_run(checkpoint):
    """Returns the initial settings of the run of a checkpoint, the dict in its run.json.

    {} if there is none.
    """
    path = find_file(checkpoint, RUN_FILE)
    return read_json_object(path) if path else {}
