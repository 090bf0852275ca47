"""From a checkpoint to a model that answers texts: what export_saved_model, fill_mask and answer share."""

import dataclasses

from bert_tf.checkpoints import load_pretrained
from bert_tf.cli import paths
from bert_tf.errors import InputError
from bert_tf.fast import Fast, FastEncoder
from bert_tf.files import read_bytes
from bert_tf.model_folder import check_no_pickle, find_file
from bert_tf.model_folder.tokenizers import find_vocabulary
from bert_tf.run_state import RUN_FILE
from run.finetuning import task_metadata
from run.finetuning.task import ServedTask
from run.finetuning.tasks import TASKS
from run.inference.pretrained import Encoder, MaskedLM
from run.inference.settings import KINDS, UNTRAINED_KINDS, QuestionSettings
from run.settings import DTYPE_POLICIES, TokenizerSettings, from_folder
from run.settings.model import read_config, read_tokenizer

SERVED = {task.kind: task for task in (Encoder, MaskedLM)} | TASKS
DEFAULTS, QUESTION_DEFAULTS = TokenizerSettings(), QuestionSettings()
FOUND = ("bert_config_file", "vocab_file", *from_folder.CASING)  # what a checkpoint's folder tells
NOT_CHANGED = ("labels", "pairs", "multi_label", *from_folder.CASING)  # by flags; lengths may change


@dataclasses.dataclass(frozen=True)
class ServingOptions:
    """How a model answers, beside what its TaskMetadata says: settings of the same names of run.inference.settings."""

    max_answer_length: int = 30
    top_k: int = 5
    version_2_with_negative: bool = False
    null_score_diff_threshold: float = 0.0
    static_length: bool = False


@dataclasses.dataclass(frozen=True)
class Served:
    """What a checkpoint is served as.

    Attributes:
      task: ServedTask.
      metadata: TaskMetadata.
      options: ServingOptions.
    """

    task: type[ServedTask]
    metadata: task_metadata.TaskMetadata
    options: ServingOptions


def settle(checkpoint, given):
    """What to serve a checkpoint as.

    Args:
      checkpoint: path of --init_checkpoint.
      given: dict of the settings that were given and their values; "task" for the kind, "labels" for label names.

    Returns:
      Served.

    Raises:
      InputError: nothing says what the model does, or a setting contradicts what task.json says.
    """
    with paths.errors_of("init_checkpoint"):  # the first look at it
        kept = task_metadata.read(checkpoint)
    kind = given.get("task") or (kept and kept.kind)
    if not kind:
        raise InputError(f"`init_checkpoint`={checkpoint}: no {task_metadata.TASK_FILE} there says what the model "
                         f"does; give `task`, one of {', '.join(KINDS)}")
    if kind not in SERVED:
        raise InputError(f"{kept.source} of `init_checkpoint`={checkpoint}: kind is {kind!r}: it must be "
                         f"one of {', '.join(KINDS)}")
    values = {name: getattr(DEFAULTS, name) for name in ("max_seq_length", "do_lower_case")} | {
        name: getattr(QUESTION_DEFAULTS, name) for name in ("doc_stride", "max_query_length")}
    if kept:
        if kind not in (kept.kind, *UNTRAINED_KINDS):
            raise InputError(f"`task`={kind}: contradicts {kept.source} of `init_checkpoint`={checkpoint}, "
                             f"which says {kept.kind}")
        of_task = {name: value for name, value in dataclasses.asdict(kept).items()
                   if value is not None and name not in kept.unknown}
        if kind != kept.kind:
            of_task = {name: of_task[name] for name in (*from_folder.CASING, "max_seq_length") if name in of_task}
        if "do_lower_case" in of_task:
            of_task.setdefault("strip_accents", of_task["do_lower_case"])
        unnamed = kept.as_task.is_generic and len(given.get("labels") or ()) == len(kept.labels)
        certain = {name: of_task[name] for name in of_task if not (unnamed and name == "labels")}
        _check_not_changed(checkpoint, certain, given, kept.source)
        values |= of_task
    values |= {name: value for name, value in given.items() if name in _names(task_metadata.TaskMetadata)}
    options = {name: value for name, value in given.items() if name in _names(ServingOptions)}
    return Served(SERVED[kind], task_metadata.TaskMetadata(**values | {"kind": kind}), ServingOptions(**options))


def kind_of(outputs):
    """The kind of model whose serving_default has these outputs, names; None if it is none of SERVED."""
    return next((kind for kind, task in SERVED.items() if not task.answers.isdisjoint(outputs)), None)


def load(checkpoint, given, *, remove_padding=True, compute="float32"):
    """The Servable of a checkpoint.

    Args:
      checkpoint: path of --init_checkpoint.
      given: as `settle`'s. Config, vocabulary and casing that lie beside the checkpoint are taken where they are not
        given.
      remove_padding: see Fast; not with static lengths.
      compute: the type that projections are multiplied in, a key of run.settings.DTYPE_POLICIES.

    Returns:
      (bert_tf.export.Servable, Served).

    Raises:
      InputError: as `settle`'s; a file that is missing or does not fit; a checkpoint that lacks weights of the task.
    """
    if not checkpoint:
        raise InputError("`init_checkpoint` is required")
    settle(checkpoint, given)  # what contradicts the task is said first
    check_no_pickle(checkpoint)
    if given.get("vocab_file"):
        _check_vocabulary(checkpoint, given["vocab_file"])
    given = {**given, **from_folder.find({"init_checkpoint": checkpoint}, given, FOUND)}
    served = settle(checkpoint, given)
    config = read_config(given["bert_config_file"], served.metadata.max_seq_length)
    paths.check_file("vocab_file", given["vocab_file"])
    tokenizer = read_tokenizer(given["vocab_file"], served.metadata.do_lower_case, checkpoint, config,
                               served.metadata.strip_accents)
    fast = Fast(remove_padding=remove_padding and not served.options.static_length, last_where_read=True,
                float32_scores=True)
    encoder = FastEncoder(config, fast, dtype=DTYPE_POLICIES[compute])
    model = served.task.make_model(encoder, served.metadata)
    missing = [name for name in load_pretrained(model, checkpoint).missing if served.task.needs(name)]
    if missing:
        kind = served.task.kind
        needed = "pre-trained model" if kind in UNTRAINED_KINDS else f"fine-tuned {kind}"
        raise InputError(f"`init_checkpoint`={checkpoint}: is not of a {needed}, it lacks {', '.join(missing)}")
    return served.task.make_servable(model, tokenizer, served.metadata, served.options), served


def _check_vocabulary(checkpoint, vocab_file):
    """Raises InputError unless a vocabulary is that of the run that a checkpoint is of, where it is of one."""
    paths.check_file("vocab_file", vocab_file)
    there = find_vocabulary(checkpoint) if find_file(checkpoint, task_metadata.TASK_FILE, RUN_FILE) else None
    if there and read_bytes(from_folder.as_vocab_txt(there)) != read_bytes(from_folder.as_vocab_txt(vocab_file)):
        raise InputError(f"`vocab_file`={vocab_file}: is not the vocabulary that `init_checkpoint`={checkpoint} was "
                         f"trained with, {there}")


def _check_not_changed(checkpoint, kept, given, source):
    """Raises InputError if a given setting contradicts what the file `source` beside a checkpoint says; both dicts."""
    for name in NOT_CHANGED:
        if name in kept and name in given and given[name] != kept[name]:
            flag = "labels_file" if name == "labels" else name
            raise InputError(f"`{flag}` says {given[name]}: contradicts {source} of "
                             f"`init_checkpoint`={checkpoint}, which says {kept[name]}")


def _names(settings_class):
    return {field.name for field in dataclasses.fields(settings_class)}
