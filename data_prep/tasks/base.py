"""The contract of the data of a kind of task. Does not import TensorFlow: scripts define their flags from it."""

import abc
import dataclasses
import sys
from typing import ClassVar

from bert_tf.cli.settings import FIXED, Settings, collect
from bert_tf.errors import InputError

TRAINS = "do_train without unlabeled_file"  # condition with which training data are required
ALL_DATA = ("task_name", "data_dir", "train_file", "dev_file", "test_file", "predict_file")  # what can name data
ID_FEATURES = ("input_ids", "input_mask", "segment_ids")


@dataclasses.dataclass(frozen=True)
class TaskSettings(Settings):
    """The settings of a kind of task. A subclass for each, `Settings`, is in the module of its name.

    Attributes:
      kind: str. Name of the kind in task.json.
      data: Tuple of str. Names of the settings that name data.
    """

    kind: ClassVar[str]
    data: ClassVar[tuple]

    @classmethod
    def of_model(cls, kept, data, called="model"):
        """Returns the settings of the task that a fine-tuned model of this kind is for.

        Args:
          kept: Dict of the settings that the model's run was started with.
          data: Settings that may name data. Their values take precedence over `kept`.
          called: str. What the error calls the model.

        Raises:
          InputError: If data of another kind are given.
        """
        data = {name: value for name in ALL_DATA if (value := getattr(data, name, None)) is not None}
        other = next((name for name in data if name not in cls.data), None)
        if other:
            raise InputError(f"`{other}`={data[other]}: the {called} is a {cls.kind}, whose data are named by "
                             f"{', '.join(f'`{name}`' for name in cls.data)}")
        # For files that the model was trained on, `kept` has a fingerprint. It never says where to look.
        values = {name: value for name, value in kept.items()
                  if not isinstance(value, dict) and name not in set(cls.data) - {"task_name"}} | data
        return cls(**{field.name: values[field.name] for field in dataclasses.fields(cls) if field.name in values})


@dataclasses.dataclass(frozen=True)
class Question:
    """A text, a pair, or a text with choices, and the right answer where it is known.

    Attributes:
      text_a: str. For a span labeler the question.
      text_b: str or None. For a span labeler the context.
      choices: Tuple of str. For multiple choice.
      expected: str or None. The right answer in words.
      source: str. Where the question is from, "" if it is not from a file.
      right: The right answer as `Kind.is_right` compares it, None if it is not known.
    """

    text_a: str
    text_b: str | None = None
    choices: tuple = ()
    expected: str | None = None
    source: str = ""
    right: object = None

    @property
    def texts(self):
        """All its texts, a list of str."""
        return [self.text_a, *([self.text_b] if self.text_b is not None else []), *self.choices]


class TaskData(abc.ABC):
    """The data of a task: files to examples, features, and questions. A subclass for each kind is in its module.

    Args:
      settings: TaskSettings of the kind.
      max_seq_length: int. Longest input in WordPieces, S.
      kept: TaskMetadata of the model that is used, or that teaches, whose labels count; None for a new model.

    Attributes:
      Settings: Class of the settings.
    """

    Settings: ClassVar[type[TaskSettings]]

    def __init__(self, settings, max_seq_length, kept=None):
        self.settings = settings
        self.max_seq_length = max_seq_length
        self.kept = kept
        self._examples = {}

    def check(self):  # noqa: B027
        """Checks the settings before anything is read, and says on standard error what is odd about them.

        Raises:
          InputError: If they do not suit the model or each other.
        """

    def examples(self, split):
        """Returns the examples of a split, "train", "dev" or "test", which are read once.

        Raises:
          InputError: Naming file and line, or the setting that does not suit them.
        """
        if split not in self._examples:
            self._examples[split] = self._read_examples(split)
        return self._examples[split]

    @abc.abstractmethod
    def _read_examples(self, split):
        """Reads the examples of a split."""

    @abc.abstractmethod
    def read(self, split, tokenizer):
        """Converts the examples of a split to features, and says on standard error what is odd about them.

        Args:
          split: "train", "dev" or "test".
          tokenizer: BertTokenizer.

        Returns:
          Dict of arrays: input_ids, input_mask and segment_ids, int32 [n, S] or [n, choices, S], and label_ids.

        Raises:
          InputError: Naming file and line, or the setting that does not suit them.
        """

    def unlabeled(self, path, tokenizer):
        """Converts texts without labels to features, for a student of the model `kept`.

        Args:
          path: Path of the file.
          tokenizer: BertTokenizer.

        Returns:
          Dict of ID_FEATURES, int32 [n, S] or [n, choices, S].

        Raises:
          InputError: Naming the file, if it cannot be used.
        """
        features = self._read_unlabeled(path, tokenizer)
        if not len(features["input_ids"]):
            raise InputError(f"`unlabeled_file`={path}: has no texts")
        print(f"{path}: {len(features['input_ids']):,} rows without labels", file=sys.stderr)
        return {name: features[name] for name in ID_FEATURES}

    @abc.abstractmethod
    def _read_unlabeled(self, path, tokenizer):
        """Reads the features of texts without labels; see `unlabeled`."""

    @abc.abstractmethod
    def questions(self):
        """Yields the Questions of the development data, with their right answers.

        Raises:
          InputError: If the data cannot be read, or have no answers.
        """

    @property
    @abc.abstractmethod
    def training_files(self):
        """Dict of the setting that names training data -> list of its files."""

    @property
    def card(self):
        """Dict of the fields of TaskMetadata that depend on the data."""
        return {}

    @property
    def kept_settings(self):
        """Dict of the settings that shape the features. A run is resumed with equal ones only."""
        return collect(FIXED, self.settings)
