"""The data interface of a task kind.

Does not import TensorFlow, because scripts define their flags from it.
"""

import abc
import dataclasses
from typing import ClassVar

from bert_tf.cli.rules import Required
from bert_tf.cli.settings import Settings, check_rules
from bert_tf.errors import InputError
from bert_tf.features import FEATURES
from bert_tf.notes import write_line

# Rule of training data.
TRAINS = Required(when="do_train", unless="unlabeled_file")
# Settings that name data.
ALL_DATA = (
    "task_name",
    "data_dir",
    "data_file",
    "train_file",
    "dev_file",
    "test_file",
    "predict_file",
)


@dataclasses.dataclass(frozen=True)
class TaskSettings(Settings):
    """Settings of a task kind. Each kind has a subclass, such as `ClassifierSettings`.

    Attributes:
      kind: str. Name of the kind in task.json.
      data: Tuple of str. Names of the settings that name data.
    """

    outer_settings: ClassVar = ("do_train", "do_eval", "do_predict", "unlabeled_file")
    kind: ClassVar[str]
    data: ClassVar[tuple]

    @classmethod
    def from_model(cls, model_settings, data, model_name="model"):
        """Returns the settings for the task of a fine-tuned model of this kind.

        Args:
          model_settings: Dict of the settings of the model's training run.
          data: Dict of other settings. The ones that name data take precedence over
            `model_settings`.
          model_name: str. Name of the model in error messages.

        Raises:
          InputError: If `data` names data of another kind.
        """
        data = {name: data[name] for name in ALL_DATA if data.get(name) is not None}
        other = next((name for name in data if name not in cls.data), None)
        if other:
            raise InputError(
                f"does not apply to the {model_name}, a {cls.kind}; set "
                f"{' or '.join(f'`{name}`' for name in cls.data)}",
                other,
                data[other],
            )
        # `model_settings` has fingerprints instead of paths for the files of the training run.
        values = {
            name: value
            for name, value in model_settings.items()
            if not isinstance(value, dict) and name not in set(cls.data) - {"task_name"}
        } | data
        names = [field.name for field in dataclasses.fields(cls)]
        settings = cls(**{name: values[name] for name in names if name in values})
        check_rules(settings)
        return settings


class TaskData(abc.ABC):
    """The data of a task: files to examples and features. The module of each kind has a subclass.

    Args:
      settings: TaskSettings of the kind.
      max_seq_length: int. Maximum length of an input in tokens, S.
      metadata: TaskMetadata of the model or the teacher, whose labels are used. None for a new
        model.

    Attributes:
      settings_class: Class of the settings.
    """

    settings_class: ClassVar[type[TaskSettings]]

    def __init__(self, settings, max_seq_length, metadata=None):
        self.settings = settings
        self.max_seq_length = max_seq_length
        self.metadata = metadata
        self._examples = {}

    def check(self):  # noqa: B027
        """Checks the settings before any data is read, and prints notes about them to stderr.

        Raises:
          InputError: If they are incompatible with the model or each other.
        """

    def examples(self, split):
        """Returns the examples of a split, "train", "dev", or "test". Reads them only once.

        Raises:
          InputError: If the data are invalid. The message names the file and line, or the
            incompatible setting.
        """
        if split not in self._examples:
            self._examples[split] = self._read_examples(split)
        return self._examples[split]

    @abc.abstractmethod
    def _read_examples(self, split):
        """Reads the examples of a split."""

    @abc.abstractmethod
    def read(self, split, tokenizer):
        """Converts the examples of a split to features, and prints notes about them to stderr.

        Args:
          split: str. "train", "dev", or "test".
          tokenizer: BertTokenizer.

        Returns:
          Dict of arrays: input_ids, input_mask, and segment_ids, int32 [n, S] or [n, choices, S],
          and label_ids.

        Raises:
          InputError: If the data are invalid. The message names the file and line, or the
            incompatible setting.
        """

    def read_unlabeled(self, path, tokenizer):
        """Converts texts without labels to features, for a student of the teacher in `metadata`.

        Args:
          path: Path of the file.
          tokenizer: BertTokenizer.

        Returns:
          Dict of FEATURES, int32 [n, S] or [n, choices, S].

        Raises:
          InputError: If the file is invalid. The message names it.
        """
        features = self._read_unlabeled(path, tokenizer)
        if not len(features["input_ids"]):
            raise InputError("contains no texts", "unlabeled_file", path)
        write_line(f"{path}: {len(features['input_ids']):,} unlabeled rows")
        return {name: features[name] for name in FEATURES}

    @abc.abstractmethod
    def _read_unlabeled(self, path, tokenizer):
        """Reads the features of texts without labels. See `read_unlabeled`."""

    @property
    def training_files(self):
        """Dict of the name of the training data setting to the list of its files."""
        return {"train_file": [self.settings.train_file]}

    @property
    def metadata_fields(self):
        """Dict of the TaskMetadata fields that depend on the data."""
        return {}

    @property
    def resolved_settings(self):
        """The settings with the values that unset ones have for these data."""
        return self.settings
