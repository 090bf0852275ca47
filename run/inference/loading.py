"""From a checkpoint to a model that answers texts: what export_saved_model, fill_mask and answer share."""

import dataclasses
import os

from absl import flags

from bert_tf.errors import InputError
from run.finetuning import task_metadata
from run.settings import flags as driver_flags

flags.disclaim_key_flags()

UNTRAINED_KINDS = ("encoder", "masked_lm")  # what any checkpoint can serve as, fine-tuned or not
KINDS = (*UNTRAINED_KINDS, *task_metadata.KINDS)
KEPT_FILES = {"bert_config_file": "bert_config.json", "vocab_file": "vocab.txt"}


@dataclasses.dataclass(frozen=True)
class Settings:
    """What to serve: the values of the flags of these names, or what task.json says.

    Attributes:
      kind: one of KINDS.
      labels, pairs, multi_label, do_lower_case, max_seq_length, doc_stride, max_query_length: as in task_metadata.Task.
      max_answer_length, top_k, version_2_with_negative, null_score_diff_threshold, static_length: as the flags.
    """

    kind: str
    labels: tuple[str, ...] = ()
    pairs: bool = False
    multi_label: bool = False
    do_lower_case: bool = True
    max_seq_length: int = 128
    doc_stride: int = 128
    max_query_length: int = 64
    max_answer_length: int = 30
    top_k: int = 5
    version_2_with_negative: bool = False
    null_score_diff_threshold: float = 0.0
    static_length: bool = False


def define_flags():
    """The checkpoint and what goes with it."""
    driver_flags.define_model_flags()
    driver_flags.define_tokenizer_flags()


def define_question_flags():
    """How contexts are searched for answers; names and defaults are those of the original's run_squad."""
    flags.DEFINE_integer(
        "doc_stride", 128, "Pieces between the starts of two windows of a long context.", lower_bound=1)
    flags.DEFINE_integer("max_query_length", 64, "Pieces at which a question is cut.", lower_bound=1)
    flags.DEFINE_integer("max_answer_length", 30, "Most pieces of an answer.", lower_bound=1)
    flags.DEFINE_bool("version_2_with_negative", False, "Whether a question may have no answer; the answer is then ''.")
    flags.DEFINE_float(
        "null_score_diff_threshold", 0.0, "With --version_2_with_negative: how much the score of no answer must exceed "
                                          "that of the best for the answer to be none.")


def settle(checkpoint, given):
    """Settings of the model in a checkpoint.

    Args:
      checkpoint: value of --init_checkpoint.
      given: dict of the flags that were given and their values; "task" for the kind.

    Raises:
      InputError: nothing says what the model does, or a flag contradicts what task.json says.
    """
    kept = task_metadata.read(checkpoint)
    kind = given.get("task") or (kept and kept.kind)
    if not kind:
        raise InputError(f"--init_checkpoint={checkpoint}: no {task_metadata.TASK_FILE} there says what the model "
                         f"does; give --task, one of {', '.join(KINDS)}")
    names = {field.name for field in dataclasses.fields(Settings)} - {"kind"}
    values = {}
    if kept:
        if kind not in (kept.kind, *UNTRAINED_KINDS):
            raise InputError(f"--task={kind}: contradicts {task_metadata.TASK_FILE} of --init_checkpoint={checkpoint}, "
                             f"which says {kept.kind}")
        values = {name: value for name, value in dataclasses.asdict(kept).items()
                  if name in names and value is not None}
        if kind != kept.kind:
            values = {name: values[name] for name in ("do_lower_case", "max_seq_length")}
    for name in ("labels", "pairs", "multi_label", "do_lower_case"):  # lengths may be others than in training
        if name in values and name in given and given[name] != values[name]:
            flag = "labels_file" if name == "labels" else name
            raise InputError(f"--{flag} says {given[name]}: contradicts {task_metadata.TASK_FILE} of "
                             f"--init_checkpoint={checkpoint}, which says {values[name]}")
    return Settings(kind, **values | {name: value for name, value in given.items() if name in names})


def load(checkpoint, given, *, remove_padding=True):
    """The Servable of a checkpoint.

    Args:
      checkpoint: value of --init_checkpoint.
      given: dict of the flags that were given and their values. bert_config.json and vocab.txt beside the checkpoint
        are taken where "bert_config_file" and "vocab_file" are not given.
      remove_padding: see BertEncoder; not with static lengths.

    Returns:
      (Servable, Settings).

    Raises:
      InputError: as `settle`'s; a file that is missing or does not fit; a checkpoint that lacks weights of the task.
    """
    if not checkpoint:
        raise InputError("--init_checkpoint is needed")
    settings = settle(checkpoint, given)
    paths = {flag: given.get(flag) or _beside(checkpoint, flag) for flag in KEPT_FILES}
    config = driver_flags.read_config(paths["bert_config_file"], settings.max_seq_length)
    tokenizer = driver_flags.read_tokenizer(paths["vocab_file"], settings.do_lower_case, checkpoint, config)

    from bert_tf import models
    from bert_tf.checkpoints import load_pretrained

    encoder = models.BertEncoder(config, remove_padding=remove_padding and not settings.static_length)
    model = _make_model(encoder, settings)
    missing = [name for name in load_pretrained(model, checkpoint).missing if _is_used(name, settings.kind)]
    if missing:
        needed = "pre-trained model" if settings.kind in UNTRAINED_KINDS else f"fine-tuned {settings.kind}"
        raise InputError(f"--init_checkpoint={checkpoint}: is not of a {needed}, it lacks {', '.join(missing)}")
    return _make_servable(model, tokenizer, settings), settings


def _beside(checkpoint, flag):
    """The path of a file of KEPT_FILES kept with a checkpoint; InputError if there is none."""
    own = checkpoint if os.path.isdir(checkpoint) else os.path.dirname(checkpoint)
    for folder in filter(None, (task_metadata.model_folder(checkpoint), own)):
        path = os.path.join(folder, KEPT_FILES[flag])
        if os.path.exists(path):
            return path
    raise InputError(f"--{flag} is needed: there is no {KEPT_FILES[flag]} beside --init_checkpoint={checkpoint}")


def _make_model(encoder, settings):
    from bert_tf import models

    num_outputs = len(settings.labels) or 1
    return {
        "encoder": lambda: encoder,
        "masked_lm": lambda: models.BertPretrainer(encoder),
        "classifier": lambda: models.BertClassifier(encoder, num_outputs),
        "token_classifier": lambda: models.BertTokenClassifier(encoder, num_outputs),
        "span_labeler": lambda: models.BertSpanLabeler(encoder),
        "multiple_choice": lambda: models.BertMultipleChoice(encoder),
    }[settings.kind]()


def _is_used(name, kind):
    """Whether the answers of a kind depend on a variable; a checkpoint may lack the others."""
    unused = {"masked_lm": ("bert/pooler/", "cls/seq_relationship/"), "token_classifier": ("bert/pooler/",),
              "span_labeler": ("bert/pooler/",)}
    return not name.startswith(unused.get(kind, ()))


def _make_servable(model, tokenizer, settings):
    from bert_tf import export

    options = {"max_seq_length": settings.max_seq_length, "static_length": settings.static_length}
    labels = list(settings.labels)
    return {
        "encoder": lambda: export.ServedEncoder(model, tokenizer, pairs=settings.pairs, **options),
        "masked_lm": lambda: export.ServedMaskedLM(model, tokenizer, top_k=settings.top_k, **options),
        "classifier": lambda: export.ServedClassifier(
            model, tokenizer, labels, pairs=settings.pairs, multi_label=settings.multi_label, **options),
        "token_classifier": lambda: export.ServedTagger(model, tokenizer, labels, **options),
        "span_labeler": lambda: export.ServedSpanLabeler(
            model, tokenizer, doc_stride=settings.doc_stride, max_query_length=settings.max_query_length,
            max_answer_length=settings.max_answer_length, top_k=settings.top_k,
            allow_no_answer=settings.version_2_with_negative,
            null_score_diff_threshold=settings.null_score_diff_threshold, **options),
        "multiple_choice": lambda: export.ServedMultipleChoice(model, tokenizer, **options),
    }[settings.kind]()
