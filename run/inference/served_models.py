"""Settings of jobs that use a model for its task. Does not import TensorFlow."""

import dataclasses
import functools
import warnings
from typing import ClassVar, NamedTuple

from bert_tf.checkpoints import ModelDirectory, task_metadata
from bert_tf.cli import paths, resolution, roles
from bert_tf.cli.model_files import ModelFiles
from bert_tf.cli.model_jobs import ModelJobSettings
from bert_tf.cli.model_settings import ModelSettings, TokenizerSettings
from bert_tf.cli.settings import Settings, setting
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.serving.exports import is_export
from bert_tf.tasks import KINDS, UNTRAINED_KINDS
from bert_tf.tasks.metadata import POOLER_OUTPUT, SENTENCE_POOLINGS, TaskMetadata
from data_prep.tasks.span_labeler import QuestionSettings

KIND_NAMES = (*UNTRAINED_KINDS, *(name for name in KINDS if name not in UNTRAINED_KINDS))
# The settings with these names.
FIELDS_OF_KINDS = {name for kind in KINDS.values() for name in kind.fields}
MODEL_SETTINGS = ("model", "init_checkpoint")  # Settings for the location of a model in any format.


@dataclasses.dataclass(frozen=True)
class ServingSettings(ModelJobSettings):
    """Base class of jobs that use a model for its task.

    bert_tf.cli.resolution computes the fields without a flag.
    """

    serves: ClassVar = True
    always_required: ClassVar = ("init_checkpoint",)
    # Settings of some subclasses: the required kind of the model, and LabelSettings.
    task = None
    label = None

    config: BertConfig | None = dataclasses.field(
        default=None, compare=False, repr=False, kw_only=True
    )
    model_files: ModelFiles | None = dataclasses.field(
        default=None, compare=False, repr=False, kw_only=True
    )
    served_task: TaskMetadata | None = dataclasses.field(
        default=None, compare=False, repr=False, kw_only=True
    )

    @functools.cached_property
    def labels(self):
        """Explicit names of a classifier's labels, a tuple of str; empty without a file of them."""
        return self.label.read_labels() if self.label else ()

    @property
    def servable_options(self):
        """Arguments of `bert_tf.serving.checkpoint.load_servable`, a dict, once resolved."""
        argument, directory = next(iter(self.model_files.directories.items()))
        values = self.values()
        return {
            "path": directory,
            "metadata": self.served_task,
            "config": self.config,
            "vocab_file": values["vocab_file"],
            "static_length": values.get("static_length", False),
            "argument": argument,
        }

    def check_kind(self):
        """Raises InputError for a setting that has no effect on the kind of a checkpoint."""
        kind = self.served_task and KINDS[self.served_task.kind]
        for field, value in self.fields() if kind else ():
            name = "labels" if field.name == "labels_file" else field.name
            if name in FIELDS_OF_KINDS and name not in kind.fields and value != field.default:
                raise InputError(
                    f"has no effect on models of kind {kind.name}; omit it", field.name, value
                )


@dataclasses.dataclass(frozen=True)
class CandidateSettings(ServingSettings):
    """Base class of jobs that can give several answers."""

    top_k: int = setting(
        5, "Number of candidates per [MASK], or of answers per question.", min_value=1
    )


@dataclasses.dataclass(frozen=True)
class LabelSettings(Settings):
    """Properties of a model's task that the directory of a checkpoint might not contain."""

    labels_file: str | None = setting(
        None,
        "File of label names, one per line, in the order of their IDs. Defaults to the labels in "
        "task.json. A classifier without labels predicts a number.",
        role=roles.INPUT_FILE,
    )
    pairs: bool = setting(
        False,
        "For classifiers, encoders, and masked LMs: each example has two texts, with the inputs "
        "text_a and text_b instead of text.",
    )
    multi_label: bool = setting(False, "For classifiers: a text can have several labels.")
    sentence_pooling: str | None = setting(
        None,
        "For encoders: method that pools the last layer's outputs over all tokens, including "
        "[CLS] and [SEP], into the embedding of a text. pooler: the pooled output, which is "
        "trained for NSP. Defaults to the pooling in a sentence-transformers directory, otherwise "
        "to mean.",
        choices=(*SENTENCE_POOLINGS, POOLER_OUTPUT),
    )

    def read_labels(self):
        """Returns the label names of `labels_file`, a tuple of str; empty without a file."""
        if not self.labels_file:
            return ()
        paths.check_file("labels_file", self.labels_file)
        return task_metadata.read_labels(self.labels_file)


# Settings that are fixed in an export.
CHECKPOINT_SETTINGS = frozenset(
    {
        "bert_config_file",
        "task",
        *TokenizerSettings().values(),
        *QuestionSettings().values(),
        *LabelSettings().values(),
    }
)


class _Location(NamedTuple):
    """The location of a model.

    Attributes:
      setting: Name of the setting that has its path.
      path: str.
      is_export: bool. Whether it is an export instead of a checkpoint.
    """

    setting: str
    path: str
    is_export: bool


@dataclasses.dataclass(frozen=True)
class AnyModelSettings(CandidateSettings):
    """Base class of jobs that accept checkpoints and exports. MODEL_SETTINGS name the model."""

    always_required: ClassVar = ()
    checkpoint_only: ClassVar = CHECKPOINT_SETTINGS

    @functools.cached_property
    def _location(self):
        """The _Location of the model.

        Raises InputError unless exactly one is set and exists.
        """
        values = self.values()
        given = [(name, values[name]) for name in MODEL_SETTINGS if values.get(name)]
        if not given:
            last, *others = (name for name in reversed(MODEL_SETTINGS) if name in values)
            raise InputError("is required" + "".join(f", or `{name}`" for name in others), last)
        if len(given) > 1:
            raise InputError(
                f"cannot be combined with `{given[0][0]}`; set only one of them", *given[1]
            )
        name, path = given[0]
        is_exported = False
        if name == "model":
            is_exported = is_export(ModelDirectory.open(path, name))
        return _Location(name, path, is_exported)

    @property
    def model_source(self):
        """See ModelJobSettings."""
        location = self._location
        return None if location.is_export else (location.setting, location.path)

    @property
    def exported_model(self):
        """See ModelJobSettings."""
        location = self._location
        return (location.setting, location.path) if location.is_export else None


@dataclasses.dataclass(frozen=True)
class CheckpointSettings(CandidateSettings):
    """A checkpoint for any task, and the options for its predictions."""

    model: ModelSettings = dataclasses.field(default_factory=ModelSettings)
    tokenizer: TokenizerSettings = dataclasses.field(default_factory=TokenizerSettings)
    span: QuestionSettings = dataclasses.field(default_factory=QuestionSettings)
    task: str | None = setting(
        None,
        "Task of the model. Defaults to the task in the checkpoint's directory. Every checkpoint "
        "can be an encoder, and a pre-trained checkpoint can be a masked_lm.",
        choices=KIND_NAMES,
    )
    label: LabelSettings = dataclasses.field(default_factory=LabelSettings)
    static_length: bool = setting(
        False,
        "Pad every input to --max_seq_length, as TPUs and XLA require, instead of to the longest "
        "text of a request.",
    )


def resolve_checkpoint(path, argument="init_checkpoint", warn=warnings.warn, **given):
    """Returns the resolved CheckpointSettings of a checkpoint that is not specified by a flag.

    Args:
      path: str. Path of the checkpoint.
      argument: str. Name of the argument with the path, for error messages.
      warn: Callable that prints a message.
      **given: Settings that take precedence over the files next to the checkpoint.
    """
    settings = CheckpointSettings(model=ModelSettings(init_checkpoint=path)).replace_values(given)
    return resolution.resolve(settings, given, ModelFiles({argument: path}), warn)
