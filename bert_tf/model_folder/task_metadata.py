"""The task of a fine-tuned model in `task.json` next to its checkpoints, for evaluation, prediction, and export.

For a fine-tuned model of Hugging Face, its config.json contains a part of it.
"""

import dataclasses
import json
import os
from typing import ClassVar

from bert_tf.errors import InputError
from bert_tf.files import new_file, read_json, read_json_object
from bert_tf.huggingface_config import CONFIG_NAME
from bert_tf.model_folder.places import TASK_FILE, find_file
from bert_tf.model_folder.tasks import Task, read_task
from bert_tf.run_state import RUN_FILE
from bert_tf.tasks.base import check_unique

# Defaults, which are the original's.
DEFAULTS = {"max_seq_length": 128, "do_lower_case": True, "doc_stride": 128, "max_query_length": 64}


@dataclasses.dataclass(frozen=True)
class TaskMetadata:
    """A task and the settings with which its inputs were created.

    Attributes:
      kind: Kind of task, a key of bert_tf.tasks.KINDS.
      max_seq_length: Maximum length of inputs in tokens, including [CLS] and [SEP].
      do_lower_case: Casing of the tokenizer.
      labels: Names in the order of their IDs; empty for regressions, span labelers, and multiple choice.
      pairs: Whether an example of a classifier, an encoder, or a masked LM is two texts.
      multi_label: Whether a text can have several of the labels.
      doc_stride: For span labelers: tokens between the starts of two windows of a context.
      max_query_length: For span labelers: maximum length of questions in tokens.
      strip_accents: Whether the tokenizer removes accents; None for `do_lower_case`. A value that is equal to
        `do_lower_case` becomes None.
      window_pooling: For classifiers that read long texts in windows: pooling of the logits; otherwise None.
      window_stride: For these classifiers: tokens between the starts of two windows of a text.
      max_windows: For these classifiers: maximum number of windows of a text.
      source: Name of the file that contains the metadata.
      unknown: Fields that the file does not contain, so that any value is compatible with it.

    Raises:
      InputError: If a value has the wrong type, or a label occurs twice.
    """

    source: ClassVar[str] = TASK_FILE
    unknown: ClassVar[frozenset] = frozenset()

    kind: str
    max_seq_length: int
    do_lower_case: bool
    labels: tuple[str, ...] = ()
    pairs: bool = False
    multi_label: bool = False
    doc_stride: int | None = None
    max_query_length: int | None = None
    strip_accents: bool | None = None
    window_pooling: str | None = None
    window_stride: int | None = None
    max_windows: int | None = None

    def __post_init__(self):
        for name, kind, is_right in (
            ("kind", "a name", isinstance(self.kind, str)),
            ("labels", "a list of names", isinstance(self.labels, list | tuple) and all(
                isinstance(label, str) for label in self.labels)),
            ("max_seq_length", "an integer", type(self.max_seq_length) is int),
            ("do_lower_case", "true or false", isinstance(self.do_lower_case, bool)),
            ("strip_accents", "true, false, or null", isinstance(self.strip_accents, bool | None)),
            *((name, "true or false", isinstance(getattr(self, name), bool)) for name in ("pairs", "multi_label")),
            *((name, "an integer or null", type(getattr(self, name)) in (int, type(None)))
              for name in ("doc_stride", "max_query_length", "window_stride", "max_windows")),
            ("window_pooling", "mean, max, or null", self.window_pooling in ("mean", "max", None)),
        ):
            if not is_right:
                raise InputError(f"{name} is {getattr(self, name)!r:.80}: must be {kind}")
        object.__setattr__(self, "labels", tuple(self.labels))  # JSON has lists
        check_unique(self.labels)
        if self.strip_accents == self.do_lower_case:  # the same tokenizer, even if it was set explicitly
            object.__setattr__(self, "strip_accents", None)

    @property
    def task(self):
        """bert_tf.model_folder.Task with its kind and labels, for Hugging Face's files."""
        return Task(self.kind, self.labels, self.multi_label)


class HuggingFaceTask(TaskMetadata):
    """The kind and the labels of a task, from Hugging Face's config.json."""

    source = CONFIG_NAME
    unknown = frozenset({"max_seq_length", "do_lower_case", "strip_accents", "pairs", "doc_stride", "max_query_length",
                         "window_pooling", "window_stride", "max_windows"})


def keep(output_dir, metadata):
    """Writes task.json to `output_dir`."""
    with new_file(os.path.join(output_dir, TASK_FILE)) as file:
        json.dump(dataclasses.asdict(metadata), file, indent=2, ensure_ascii=False)
        file.write("\n")


def read(checkpoint):
    """Reads the TaskMetadata next to a checkpoint, a directory or a prefix; returns None if there is none.

    It is in the checkpoint's directory; for the weights in OUTPUT_DIR/best, it is in OUTPUT_DIR. Without a task.json,
    it is the HuggingFaceTask of a config.json.

    Raises:
      InputError: If a task.json is invalid, or if the labels in a config.json are.
    """
    path = find_file(checkpoint, TASK_FILE)
    if path is None:
        task = read_task(checkpoint)
        return task and HuggingFaceTask(task.kind, DEFAULTS["max_seq_length"], DEFAULTS["do_lower_case"], task.labels,
                                        multi_label=task.multi_label)
    values = read_json(path, unique_keys=True)
    try:
        return TaskMetadata(**values)
    except (TypeError, InputError) as error:  # not an object, unknown or missing keys, or wrong types
        raise InputError(f"{path}: is not a valid task file: {error}") from error


def read_run(checkpoint):
    """Returns the initial settings of the run of a checkpoint, the dict in its run.json; {} if there is none."""
    path = find_file(checkpoint, RUN_FILE)
    return read_json_object(path) if path else {}
