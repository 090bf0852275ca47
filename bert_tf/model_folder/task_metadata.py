"""What a fine-tuned model does, kept as `task.json` beside its checkpoints: for evaluation, prediction and export.

Of a fine-tuned model of Hugging Face its config.json says a part of it.
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

# What counts where nothing says otherwise; the original's.
DEFAULTS = {"max_seq_length": 128, "do_lower_case": True, "doc_stride": 128, "max_query_length": 64}


@dataclasses.dataclass(frozen=True)
class TaskMetadata:
    """A task and how its inputs were made.

    Attributes:
      kind: of the task, a key of bert_tf.tasks.KINDS.
      max_seq_length: longest input in WordPieces, [CLS] and [SEP] included.
      do_lower_case: casing of the tokenizer.
      labels: names in the order of their ids; none for a regression, a span labeler and multiple choice.
      pairs: whether an example of a classifier is two texts.
      multi_label: whether a text may have several of the labels.
      doc_stride: of a span labeler: WordPieces between the starts of two windows of a context.
      max_query_length: of a span labeler: longest question in WordPieces.
      strip_accents: whether the tokenizer strips accents; None is as `do_lower_case`, and becomes of a value that
        repeats that.
      window_pooling: of a classifier that reads long texts in windows: how their logits are pooled; else None.
      window_stride: of such a one: WordPieces between the starts of two windows of a text.
      max_windows: of such a one: most windows of a text.
      source: name of the file that says so.
      unknown: fields of which the file says nothing, so that they may be what one likes.

    Raises:
      InputError: a value of another type.
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
            ("max_seq_length", "a whole number", type(self.max_seq_length) is int),
            ("do_lower_case", "true or false", isinstance(self.do_lower_case, bool)),
            ("strip_accents", "true, false or null", isinstance(self.strip_accents, bool | None)),
            *((name, "true or false", isinstance(getattr(self, name), bool)) for name in ("pairs", "multi_label")),
            *((name, "a whole number or null", type(getattr(self, name)) in (int, type(None)))
              for name in ("doc_stride", "max_query_length", "window_stride", "max_windows")),
            ("window_pooling", "mean, max or null", self.window_pooling in ("mean", "max", None)),
        ):
            if not is_right:
                raise InputError(f"{name} is {getattr(self, name)!r:.80}: it must be {kind}")
        object.__setattr__(self, "labels", tuple(self.labels))  # JSON has lists
        if self.strip_accents == self.do_lower_case:  # the same tokenizer, whether or not that was said
            object.__setattr__(self, "strip_accents", None)

    @property
    def as_task(self):
        """The bert_tf.model_folder.Task of it, which Hugging Face's files can name."""
        return Task(self.kind, self.labels, self.multi_label)


class HuggingFaceTask(TaskMetadata):
    """What Hugging Face's config.json says of a task: its kind and its labels."""

    source = CONFIG_NAME
    unknown = frozenset({"max_seq_length", "do_lower_case", "strip_accents", "pairs", "doc_stride", "max_query_length",
                         "window_pooling", "window_stride", "max_windows"})


def keep(output_dir, metadata):
    """Writes task.json into `output_dir`; `check` comes before."""
    with new_file(os.path.join(output_dir, TASK_FILE)) as file:
        json.dump(dataclasses.asdict(metadata), file, indent=2, ensure_ascii=False)
        file.write("\n")


def read(checkpoint):
    """The TaskMetadata kept with a checkpoint, a folder or a prefix; None if there is none.

    It lies in the checkpoint's own folder; for the weights in OUTPUT_DIR/best, in OUTPUT_DIR. Without a task.json it is
    the HuggingFaceTask of a config.json.

    Raises:
      InputError: a task.json that is not one; a config.json whose labels are none.
    """
    path = find_file(checkpoint, TASK_FILE)
    if path is None:
        task = read_task(checkpoint)
        return task and HuggingFaceTask(task.kind, DEFAULTS["max_seq_length"], DEFAULTS["do_lower_case"], task.labels,
                                        multi_label=task.multi_label)
    values = read_json(path, unique_keys=True)
    try:
        return TaskMetadata(**values)
    except (TypeError, InputError) as error:  # no object, unknown or missing keys, other types
        raise InputError(f"{path}: not a task file of these scripts: {error}") from error


def read_run(checkpoint):
    """Returns the settings that the run of a checkpoint was started with, the dict in its run.json; {} without one."""
    path = find_file(checkpoint, RUN_FILE)
    return read_json_object(path) if path else {}
