"""The TaskMetadata with which a model is used, from its directory and from explicit values."""

import os

from bert_tf.errors import InputError
from bert_tf.files import new_file, read_text
from bert_tf.tasks import UNTRAINED_KINDS
from bert_tf.tasks.kind import check_unique
from bert_tf.tasks.metadata import TASK_FILE, TaskMetadata

DEFAULTS = {"max_seq_length": 128, "do_lower_case": True}  # The original's.
CASING = ("do_lower_case", "strip_accents")
# Fields that are read from task.json if the model serves another task.
SHARED_FIELDS = (*CASING, "max_seq_length")
# Fields that settings do not change; lengths can change.
FIXED_FIELDS = ("labels", "pairs", "multi_label", *CASING)


def keep(output_dir, metadata):
    """Writes task.json to `output_dir`."""
    with new_file(os.path.join(output_dir, TASK_FILE)) as file:
        file.write(metadata.to_json())


def resolve_metadata(stored, kind, requested, defaults, subject):
    """Returns the TaskMetadata with which a model is used for a kind of task.

    Args:
      stored: TaskMetadata of the model's directory, or None.
      kind: str.
      requested: Dict of explicit values.
      defaults: Dict of values that neither `stored` nor `requested` may contain.
      subject: str. Argument and path of the model, for error messages: "`init_checkpoint`=mrpc".

    Raises:
      InputError: If the kind or a value contradicts `stored`.
    """
    resolved = DEFAULTS | defaults
    if stored:
        source = f"{stored.source} of {subject}"
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
