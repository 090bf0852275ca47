"""From a checkpoint to a model that answers texts: what jobs that serve a model share."""

import dataclasses

from bert_tf.checkpoints import load_pretrained
from bert_tf.errors import InputError
from bert_tf.fast import Fast, FastEncoder
from bert_tf.model_folder import task_metadata
from bert_tf.model_folder.task_metadata import UNTRAINED_KINDS
from run.tasks.base import ServedTask
from run.tasks import TASKS
from run.inference.pretrained import Encoder, MaskedLM
from run.settings import DTYPE_POLICIES
from run.settings.model import read_tokenizer

SERVED = {task.kind: task for task in (Encoder, MaskedLM)} | TASKS


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


def kind_of(outputs):
    """The kind of model whose serving_default has these outputs, names; None if it is none of SERVED."""
    return next((kind for kind, task in SERVED.items() if not task.answers.isdisjoint(outputs)), None)


def load(settings, *, remove_padding=True, compute="float32", **options):
    """The Servable of a checkpoint.

    Args:
      settings: resolved settings of a job that serves a model, with `card`; see bert_tf.cli.settings.
      remove_padding: see Fast; not with static lengths.
      compute: the type that projections are multiplied in, a key of run.settings.DTYPE_POLICIES.
      **options: of ServingOptions; others are as the settings say.

    Returns:
      (bert_tf.export.Servable, Served).

    Raises:
      InputError: a checkpoint that lacks weights of the task.
    """
    place, checkpoint = next(iter(settings.found.places.items()))
    values, metadata, task = settings.values(), settings.card, SERVED[settings.card.kind]
    options = ServingOptions(**{field.name: values[field.name] for field in dataclasses.fields(ServingOptions)
                                if field.name in values} | options)
    tokenizer = read_tokenizer(values["vocab_file"], metadata.do_lower_case, checkpoint, settings.config,
                               metadata.strip_accents)
    fast = Fast(remove_padding=remove_padding and not options.static_length, last_where_read=True, float32_scores=True)
    encoder = FastEncoder(settings.config, fast, dtype=DTYPE_POLICIES[compute])
    model = task.make_model(encoder, metadata)
    missing = [name for name in load_pretrained(model, checkpoint).missing if task.needs(name)]
    if missing:
        needed = "pre-trained model" if task.kind in UNTRAINED_KINDS else f"fine-tuned {task.kind}"
        raise InputError(f"is not of a {needed}, it lacks {', '.join(missing)}", place, checkpoint)
    return task.make_servable(model, tokenizer, metadata, options), Served(task, metadata, options)

