"""The teacher: what its folder says of it, and settings completed by that. Free of TensorFlow until it is loaded."""

import dataclasses

from bert_tf import files, model_folder
from bert_tf.cli import paths
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.run_state import RUN_FILE
from run.finetuning import task_metadata
from run.settings import ModelSettings, from_folder
from run.settings.model import read_config

FOUND = ("bert_config_file", "vocab_file", *from_folder.CASING)


@dataclasses.dataclass(frozen=True)
class Teacher:
    """A fine-tuned model to learn from.

    Attributes:
      path: folder or checkpoint.
      metadata: TaskMetadata.
      config: BertConfig.
    """

    path: str
    metadata: task_metadata.TaskMetadata
    config: BertConfig


def complete(settings, given):
    """Settings with what the folders of the teacher and of the student say, and the Teacher.

    Args:
      settings: DistillationSettings.
      given: dict of the settings that were given and their values.

    Raises:
      InputError: no teacher, or one that is no fine-tuned model; data of another task; a student of another
        vocabulary.
    """
    settings.student.check_student()
    path = settings.student.teacher
    with paths.errors_of("teacher"):
        model_folder.check_no_pickle(path)
        if not (files.exists(path) or files.exists(f"{path}.index")):
            raise InputError(f"`teacher`={path}: no such file or folder")
        metadata = task_metadata.read(path)
        run_file = model_folder.find_file(path, RUN_FILE)
        started_with = files.read_json_object(run_file) if run_file else {}
    if metadata is None:
        raise InputError(f"`teacher`={path}: is no fine-tuned model, there is no {task_metadata.TASK_FILE} beside it")
    found = from_folder.find({"teacher": path}, {}, FOUND)
    length = settings.tokenizer.max_seq_length if "max_seq_length" in given else metadata.max_seq_length
    tokenizer = dataclasses.replace(
        settings.tokenizer, max_seq_length=length, vocab_file=found["vocab_file"],
        do_lower_case=metadata.do_lower_case if _tells(metadata, "do_lower_case") else found.get("do_lower_case", True),
        strip_accents=metadata.strip_accents if _tells(metadata, "strip_accents") else found.get("strip_accents"))
    teacher = Teacher(path, metadata, read_config(found["bert_config_file"], 1))
    _check_task(settings.data, path, started_with)
    return dataclasses.replace(
        settings, tokenizer=tokenizer, model=_start(settings.student, path, tokenizer.vocab_file),
        task=settings.data.task_settings(metadata.kind, started_with)), teacher


def _tells(metadata, name):
    return name not in metadata.unknown


def _check_task(data, path, started_with):
    """Raises InputError for a published task that is not the one the teacher was trained for."""
    kept, asked = started_with.get("task_name"), data.task_name
    if kept and asked and kept.replace("-", "") != asked.lower().replace("-", ""):
        raise InputError(f"`task_name`={asked}: `teacher`={path} was trained for {kept}")


def _start(student, path, vocab_file):
    """The ModelSettings of what the student starts from; InputError for a checkpoint of another vocabulary."""
    if student.student_layers:
        return ModelSettings(init_checkpoint=path)
    if student.student_config_file:
        return ModelSettings(bert_config_file=student.student_config_file)
    found = from_folder.find({"student_checkpoint": student.student_checkpoint}, {}, ("bert_config_file", "vocab_file"))
    if files.read_bytes(found["vocab_file"]) != files.read_bytes(vocab_file):
        raise InputError(f"`student_checkpoint`={student.student_checkpoint}: its vocabulary is not that of "
                         f"`teacher`={path}")
    return ModelSettings(bert_config_file=found["bert_config_file"], init_checkpoint=student.student_checkpoint)
