"""What a fine-tuned model does, kept as `task.json` beside its checkpoints: for evaluation, prediction and export."""

import dataclasses
import json
import os

from bert_tf import files
from bert_tf.errors import InputError
from bert_tf.files import new_file, read_json
from run.training.run_metadata import folders_of, holds_run

TASK_FILE = "task.json"
KEPT = ("kind", "labels", "pairs", "multi_label", "do_lower_case")  # with which a run is resumed; lengths may change


@dataclasses.dataclass(frozen=True)
class TaskMetadata:
    """A task and how its inputs were made.

    Attributes:
      kind: of the task, a key of run.finetuning.tasks.TASKS.
      max_seq_length: longest input in WordPieces, [CLS] and [SEP] included.
      do_lower_case: casing of the tokenizer.
      labels: names in the order of their ids; none for a regression, a span labeler and multiple choice.
      pairs: whether an example of a classifier is two texts.
      multi_label: whether a text may have several of the labels.
      doc_stride: of a span labeler: WordPieces between the starts of two windows of a context.
      max_query_length: of a span labeler: longest question in WordPieces.

    Raises:
      InputError: a value of another type.
    """

    kind: str
    max_seq_length: int
    do_lower_case: bool
    labels: tuple[str, ...] = ()
    pairs: bool = False
    multi_label: bool = False
    doc_stride: int | None = None
    max_query_length: int | None = None

    def __post_init__(self):
        for name, kind, is_right in (
            ("kind", "a name", isinstance(self.kind, str)),
            ("labels", "a list of names", isinstance(self.labels, list | tuple) and all(
                isinstance(label, str) for label in self.labels)),
            ("max_seq_length", "a whole number", type(self.max_seq_length) is int),
            ("do_lower_case", "true or false", isinstance(self.do_lower_case, bool)),
        ):
            if not is_right:
                raise InputError(f"{name} is {getattr(self, name)!r}: it must be {kind}")
        object.__setattr__(self, "labels", tuple(self.labels))  # JSON has lists


def check(output_dir, metadata):
    """Raises InputError if the run of another task is in `output_dir`."""
    if not holds_run(output_dir):
        return
    there = read(output_dir)
    for name in KEPT:
        old, new = (getattr(each, name, None) for each in (there, metadata))
        if old != new:
            raise InputError(f"`output_dir`={output_dir}: holds the run of another task, with {name} {old!r}, not "
                             f"{new!r}; choose another folder")


def keep(output_dir, metadata):
    """Writes task.json into `output_dir`; `check` comes before."""
    with new_file(os.path.join(output_dir, TASK_FILE)) as file:
        json.dump(dataclasses.asdict(metadata), file, indent=2, ensure_ascii=False)
        file.write("\n")


def read(checkpoint):
    """The TaskMetadata kept with a checkpoint, a folder or a prefix; None if there is none.

    It lies in the checkpoint's own folder; for the weights in OUTPUT_DIR/best, in OUTPUT_DIR.

    Raises:
      InputError: a task.json that is not one.
    """
    places = [os.path.join(folder, TASK_FILE) for folder in folders_of(checkpoint)]
    path = next(filter(files.exists, places), None)
    if path is None:
        return None
    values = read_json(path)
    try:
        return TaskMetadata(**values)
    except (TypeError, InputError) as error:  # no object, unknown or missing keys, other types
        raise InputError(f"{path}: not a task file of these scripts: {error}") from error
