"""The TaskMetadata of a job that uses a model: from the command line, task.json next to the model, or defaults."""

import dataclasses

from bert_tf.cli import paths
from bert_tf.errors import InputError
from bert_tf.model_folder import TASK_FILE, task_metadata
from bert_tf.tasks.metadata import TaskMetadata


def resolve_task_metadata(settings, explicit, model_files):
    """Returns the TaskMetadata of a job that serves a model. Other files can still determine the casing.

    Args:
      settings: Settings with `task`, the required kind of the model, or None, and `labels`, the explicit label names.
      explicit, model_files: See `bert_tf.cli.resolution.resolve`.

    Raises:
      InputError: If the task is unknown, or if a setting contradicts task.json.
    """
    argument, path = next(iter(model_files.checkpoints.items()))
    with paths.convert_remote_errors(argument):
        stored = model_files.task_metadata.get(argument)
    values, labels = settings.values(), settings.labels
    names = [field.name for field in dataclasses.fields(TaskMetadata)]
    requested = {name: explicit[name] for name in names if explicit.get(name) is not None}
    if labels:
        requested["labels"] = labels
    defaults = {name: values[name] for name in names if values.get(name) is not None}
    return task_metadata.resolve(stored, _choose_kind(settings, stored, argument, path), requested, defaults,
                                 f"`{argument}`={path}")


def is_length_known(explicit, model_files):
    """Returns whether a setting or task.json states the maximum length of a model's inputs; see `resolve`."""
    metadata = next(iter(model_files.task_metadata.values()), None)
    return "max_seq_length" in explicit or bool(metadata and metadata.max_seq_length)


def _choose_kind(settings, stored, argument, path):
    """Returns the kind of the model of an argument; stored: TaskMetadata of its task.json, or None."""
    kind = settings.task or (stored.kind if stored else settings.default_kind)
    kinds = next((field.metadata["choices"] for field, _ in settings.fields() if field.name == "task"), ())
    if not kind:
        raise InputError(f"has no {TASK_FILE} that specifies the task"
                         + (f"; set `task` to one of {', '.join(kinds)}" if kinds else ""), argument, path)
    if kinds and kind not in kinds:
        raise InputError(f"{stored.source} of `{argument}`={path}: kind is {kind!r}: must be one of {', '.join(kinds)}")
    return kind
