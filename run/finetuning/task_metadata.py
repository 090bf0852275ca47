"""What a fine-tuned model does, kept as `task.json` beside its checkpoints: for evaluation, prediction and export."""

import dataclasses
import json
import os

from bert_tf.errors import InputError
from bert_tf.files import new_file
from run.settings import flags as driver_flags

TASK_FILE = "task.json"
KINDS = ("classifier", "token_classifier", "span_labeler", "multiple_choice")


@dataclasses.dataclass(frozen=True)
class Task:
    """A task and how its inputs were made.

    Attributes:
      kind: one of KINDS.
      max_seq_length: longest input in pieces, [CLS] and [SEP] included.
      do_lower_case: casing of the tokenizer.
      labels: names in the order of their ids; none for a regression, a span labeler and multiple choice.
      pairs: whether an example of a classifier is two texts.
      multi_label: whether a text may have several of the labels.
      doc_stride: of a span labeler: pieces between the starts of two windows of a context.
      max_query_length: of a span labeler: longest question in pieces.

    Raises:
      InputError: an unknown kind.
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
        if self.kind not in KINDS:
            raise InputError(f"kind is {self.kind!r}: it must be one of {', '.join(KINDS)}")
        object.__setattr__(self, "labels", tuple(self.labels))  # JSON has lists


def keep(output_dir, task):
    """Writes task.json into `output_dir`; InputError if the run of another task is there."""
    path = os.path.join(output_dir, TASK_FILE)
    if driver_flags.holds_run(output_dir):
        there = read(output_dir)
        for name in ("kind", "labels", "pairs", "multi_label", "do_lower_case"):  # lengths may change
            old, new = (getattr(each, name, None) for each in (there, task))
            if old != new:
                raise InputError(f"`output_dir`={output_dir}: holds the run of another task, with {name} {old!r}, "
                                 f"not {new!r}; choose another folder")
    with new_file(path) as file:
        json.dump(dataclasses.asdict(task), file, indent=2, ensure_ascii=False)
        file.write("\n")


def model_folder(checkpoint):
    """The folder that holds the task.json of a checkpoint, a folder or a prefix; None if there is none.

    It is the checkpoint's own folder or, for the weights in OUTPUT_DIR/best, the one above.
    """
    folder = os.path.abspath(checkpoint if os.path.isdir(checkpoint) else os.path.dirname(checkpoint))
    for candidate in (folder, os.path.dirname(folder)):
        if os.path.exists(os.path.join(candidate, TASK_FILE)):
            return candidate
    return None


def read(checkpoint):
    """The Task kept with a checkpoint, a folder or a prefix; None if none is kept there.

    Raises:
      InputError: a task.json that is not one.
    """
    folder = model_folder(checkpoint)
    if folder is None:
        return None
    path = os.path.join(folder, TASK_FILE)
    with open(path, encoding="utf-8") as file:
        try:
            return Task(**json.load(file))
        except (TypeError, ValueError) as error:  # not JSON, unknown or missing keys
            raise InputError(f"{path}: not a task file of these scripts: {error}") from error
