"""The TaskMetadata of a job that uses a model: from the command line, task.json next to the model, or defaults."""

import dataclasses

from bert_tf.cli import paths
from bert_tf.errors import InputError
from bert_tf.files import read_bytes
from bert_tf.latest_checkpoint import RUN_FILE
from bert_tf.model_folder import TASK_FILE, find_file
from bert_tf.model_folder.model_files import to_vocab_txt
from bert_tf.tasks import UNTRAINED_KINDS
from bert_tf.tasks.metadata import TaskMetadata

DEFAULTS = {"max_seq_length": 128, "do_lower_case": True}  # The original's.
CASING = ("do_lower_case", "strip_accents")
SHARED_FIELDS = (*CASING, "max_seq_length")  # read from task.json if the model serves another task
FIXED_FIELDS = ("labels", "pairs", "multi_label", *CASING)  # not changed by settings; lengths can change


def resolve_task_metadata(settings, explicit, model_files):
    """Returns the TaskMetadata of a job that serves a model. Other files can still determine the casing.

    Args:
      settings: Settings with `task`, the required kind of the model, or None, and `labels`, the explicit label names.
      explicit, model_files: See `bert_tf.cli.resolution.resolve`.

    Raises:
      InputError: If the task is unknown, or if a setting contradicts task.json.
    """
    argument, path = next(iter(model_files.places.items()))
    with paths.convert_remote_errors(argument):
        metadata = model_files.task_metadata.get(argument)
    values, labels = settings.values(), settings.labels
    kind = _kind(settings, metadata, argument, path)
    names = [field.name for field in dataclasses.fields(TaskMetadata)]
    requested = {name: explicit[name] for name in names if explicit.get(name) is not None}
    if labels:
        requested["labels"] = labels
    resolved = DEFAULTS | {name: values[name] for name in names if values.get(name) is not None}
    if metadata:
        stored = {name: value for name, value in metadata.to_dict().items()
                  if kind == metadata.kind or name in SHARED_FIELDS}
        if "do_lower_case" in stored:
            stored.setdefault("strip_accents", stored["do_lower_case"])
        _check_not_changed(requested, stored, metadata, f"{metadata.source} of `{argument}`={path}")
        resolved |= stored
    return TaskMetadata(**resolved | requested | {"kind": kind})


def is_length_known(explicit, model_files):
    """Returns whether a setting or task.json states the maximum length of a model's inputs; see `resolve`."""
    metadata = next(iter(model_files.task_metadata.values()), None)
    return "max_seq_length" in explicit or bool(metadata and metadata.max_seq_length)


def check_run_vocabulary(explicit, model_files):
    """Raises InputError if an explicit vocabulary differs from that of the run to which a checkpoint belongs."""
    (argument, path), vocab_file = next(iter(model_files.places.items())), explicit.get("vocab_file")
    if not vocab_file or not find_file(path, TASK_FILE, RUN_FILE):
        return
    paths.check_file("vocab_file", vocab_file)
    expected = model_files.vocab_file
    if expected and read_bytes(to_vocab_txt(expected)) != read_bytes(to_vocab_txt(vocab_file)):
        raise InputError(f"differs from the vocabulary that `{argument}`={path} was trained with, {expected}",
                         "vocab_file", vocab_file)


def _kind(settings, metadata, argument, path):
    """Returns the kind of the model of an argument; metadata: TaskMetadata of its task.json, or None."""
    kind = settings.task or (metadata.kind if metadata else settings.default_kind)
    kinds = next((field.metadata["choices"] for field, _ in settings.fields() if field.name == "task"), ())
    if not kind:
        raise InputError(f"has no {TASK_FILE} that specifies the task"
                         + (f"; set `task` to one of {', '.join(kinds)}" if kinds else ""), argument, path)
    if kinds and kind not in kinds:
        raise InputError(f"{metadata.source} of `{argument}`={path}: kind is {kind!r}: must be one of "
                         f"{', '.join(kinds)}")
    if metadata and kind not in (metadata.kind, *UNTRAINED_KINDS):
        raise InputError(f"conflicts with {metadata.source} of `{argument}`={path} ({metadata.kind})", "task", kind)
    return kind


def _check_not_changed(requested, stored, metadata, source):
    """Raises InputError if dict `requested` contradicts dict `stored` from the file `source`."""
    for name in FIXED_FIELDS:
        if name == "labels" and metadata.has_generic_labels and len(requested.get(name, ())) == len(metadata.labels):
            continue  # they do not have names yet
        if name in stored and name in requested and requested[name] != stored[name]:
            if name == "labels":
                raise InputError(f"`labels_file`: the labels {', '.join(requested[name])} conflict with {source} "
                                 f"({', '.join(stored[name])})")
            raise InputError(f"conflicts with {source} ({stored[name]})", name, requested[name])
