"""The TaskMetadata of a job that uses a model: from the command line, task.json next to the model, or defaults."""

import dataclasses

from bert_tf.cli import paths
from bert_tf.errors import InputError
from bert_tf.files import read_bytes
from bert_tf.model_folder import TASK_FILE, find_file
from bert_tf.model_folder.finding import as_vocab_txt
from bert_tf.model_folder.task_metadata import DEFAULTS, TaskMetadata
from bert_tf.run_state import RUN_FILE
from bert_tf.tasks import UNTRAINED_KINDS

CASING = ("do_lower_case", "strip_accents")
OF_ANY_TASK = (*CASING, "max_seq_length")  # read from task.json if the model serves another task
NOT_CHANGED = ("labels", "pairs", "multi_label", *CASING)  # not changed by settings; lengths can change


def card_that_counts(settings, given, found):
    """Returns the TaskMetadata of a job that serves a model. Other files can still determine the casing.

    Args:
      settings: Settings with `task`, the required kind of the model, or None, and `labels`, explicit label names.
      given, found: See `bert_tf.cli.resolution.resolve`.

    Raises:
      InputError: If the task is unknown, or if a setting contradicts task.json.
    """
    place, path = next(iter(found.places.items()))
    with paths.errors_of(place):
        kept = found.cards.get(place)
    values, labels = settings.values(), settings.labels
    kind = _kind(settings, kept, place, path)
    names = [field.name for field in dataclasses.fields(TaskMetadata)]
    stated = {name: given[name] for name in names if given.get(name) is not None}
    if labels:
        stated["labels"] = labels
    card = DEFAULTS | {name: values[name] for name in names if values.get(name) is not None}
    if kept:
        told = {name: value for name, value in dataclasses.asdict(kept).items()
                if value is not None and name not in kept.unknown and (kind == kept.kind or name in OF_ANY_TASK)}
        if "do_lower_case" in told:
            told.setdefault("strip_accents", told["do_lower_case"])
        _check_not_changed(stated, told, kept, f"{kept.source} of `{place}`={path}")
        card |= told
    return TaskMetadata(**card | stated | {"kind": kind})


def check_run_vocabulary(given, found):
    """Raises InputError if an explicit vocabulary differs from that of the run to which a checkpoint belongs."""
    (place, path), vocab_file = next(iter(found.places.items())), given.get("vocab_file")
    if not vocab_file or not find_file(path, TASK_FILE, RUN_FILE):
        return
    paths.check_file("vocab_file", vocab_file)
    there = found.vocab_file
    if there and read_bytes(as_vocab_txt(there)) != read_bytes(as_vocab_txt(vocab_file)):
        raise InputError(f"differs from the vocabulary that `{place}`={path} was trained with, {there}", "vocab_file",
                         vocab_file)


def _kind(settings, kept, place, path):
    """Returns the kind of the model at a place; kept: TaskMetadata of its task.json, or None."""
    kind = settings.task or (kept.kind if kept else settings.task_without_card)
    kinds = next((field.metadata["choices"] for field, _ in settings.fields() if field.name == "task"), ())
    if not kind:
        raise InputError(f"has no {TASK_FILE} that specifies the task"
                         + (f"; set `task` to one of {', '.join(kinds)}" if kinds else ""), place, path)
    if kinds and kind not in kinds:
        raise InputError(f"{kept.source} of `{place}`={path}: kind is {kind!r}: must be one of {', '.join(kinds)}")
    if kept and kind not in (kept.kind, *UNTRAINED_KINDS):
        raise InputError(f"conflicts with {kept.source} of `{place}`={path} ({kept.kind})", "task", kind)
    return kind


def _check_not_changed(stated, told, kept, source):
    """Raises InputError if dict `stated` contradicts dict `told` from the file `source`."""
    for name in NOT_CHANGED:
        if name == "labels" and kept.as_task.is_generic and len(stated.get(name, ())) == len(kept.labels):
            continue  # they do not have names yet
        if name in told and name in stated and stated[name] != told[name]:
            if name == "labels":
                raise InputError(f"`labels_file`: the labels {', '.join(stated[name])} conflict with {source} "
                                 f"({', '.join(told[name])})")
            raise InputError(f"conflicts with {source} ({told[name]})", name, stated[name])
