"""Settings of a job that uses a model, whose directory supplies values that are not set."""

import dataclasses
from typing import ClassVar

from bert_tf.cli.settings import Settings


@dataclasses.dataclass(frozen=True)
class ModelJobSettings(Settings):
    """Base class of the settings of a job with a model. bert_tf.cli.resolution resolves them.

    Attributes:
      checkpoint_setting: Name of the setting whose checkpoint supplies values that are not set.
      checkpoint_only: Names of settings that have no effect on an export, which replaces a
        checkpoint.
      serves: Whether the job uses a model for its task. The task.json of a checkpoint then supplies
        values too.
      default_kind: Kind of task if it is unknown; None to reject this.
    """

    checkpoint_setting: ClassVar[str] = "init_checkpoint"
    checkpoint_only: ClassVar[frozenset[str]] = frozenset()
    serves: ClassVar[bool] = False
    default_kind: ClassVar[str | None] = None

    def add_file_values(self):
        """Returns settings with values from further files; a hook for subclasses.

        The command line takes precedence.
        """
        return self

    def add_dependent_values(self):
        """Returns settings with values that depend on all others; a hook for subclasses."""
        return self

    @property
    def model_source(self):
        """(setting, path) of the checkpoint whose directory supplies unset values, or None."""
        path = self.values().get(self.checkpoint_setting)
        return (self.checkpoint_setting, path) if path else None

    @property
    def exported_model(self):
        """(setting, path) of an export that is used instead of a checkpoint; None without one."""
        return None

    @property
    def num_positions(self):
        """Number of positions that the model requires."""
        return self.values().get("max_seq_length") or 1
