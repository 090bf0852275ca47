"""From a checkpoint to a model that answers texts: what jobs that serve a model share."""

import dataclasses

from bert_tf.checkpoints import load_pretrained
from bert_tf.errors import InputError
from bert_tf.fast import Fast, FastEncoder
from bert_tf.model_folder import task_metadata
from bert_tf.tasks import KINDS
from bert_tf.tasks.graphs import GRAPHS, ServingOptions
from run.settings import DTYPE_POLICIES
from run.settings.model import read_tokenizer


@dataclasses.dataclass(frozen=True)
class Served:
    """What a checkpoint is served as.

    Attributes:
      metadata: TaskMetadata.
      options: ServingOptions.
    """

    metadata: task_metadata.TaskMetadata
    options: ServingOptions


def kind_of(outputs):
    """The kind of model whose serving_default has these outputs, names; None if it is none of KINDS."""
    return next((name for name, kind in KINDS.items() if not kind.signature.isdisjoint(outputs)), None)


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
    values, metadata = settings.values(), settings.card
    kind, graph = KINDS[metadata.kind], GRAPHS[metadata.kind]
    options = ServingOptions(**{field.name: values[field.name] for field in dataclasses.fields(ServingOptions)
                                if field.name in values} | options)
    tokenizer = read_tokenizer(values["vocab_file"], metadata.do_lower_case, checkpoint, settings.config,
                               metadata.strip_accents)
    fast = Fast(remove_padding=remove_padding and not options.static_length, last_where_read=True, float32_scores=True)
    encoder = FastEncoder(settings.config, fast, dtype=DTYPE_POLICIES[compute])
    model = graph.model(encoder, metadata)
    missing = [name for name in load_pretrained(model, checkpoint).missing if kind.needs(name)]
    if missing:
        needed = f"fine-tuned {kind.name}" if kind.is_fine_tuned else "pre-trained model"
        raise InputError(f"is not of a {needed}, it lacks {', '.join(missing)}", place, checkpoint)
    return graph.servable(model, tokenizer, metadata, options), Served(metadata, options)
