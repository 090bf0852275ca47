"""Fine-tuned models, and which data their tasks have, of whichever kind they are. Free of TensorFlow."""

import dataclasses
from typing import ClassVar

from bert_tf import model_folder
from bert_tf.cli import paths, places
from bert_tf.cli.model_settings import ModelSettings, TokenizerSettings
from bert_tf.cli.settings import Settings, setting
from bert_tf.errors import InputError
from bert_tf.files import read_json_object
from bert_tf.model_folder import task_metadata
from bert_tf.run_state import RUN_FILE
from data_prep.tasks import DATA
from run.finetuning.settings import TuningSettings


@dataclasses.dataclass(frozen=True)
class DataSettings(Settings):
    """The data of the task that a model was fine-tuned for."""

    task_name: str | None = setting(
        None, "Of a classifier: as run_classifier's; unset means what the run.json beside the model says.")
    data_dir: str | None = setting(None, "Of a classifier: folder of the task's files, as run_classifier's.",
                                   place=places.INPUT)
    train_file: str | None = setting(None, "Of the other tasks: file to train on, as their script's.",
                                     place=places.INPUT)
    dev_file: str | None = setting(None, "Of a tagger or of multiple choice: file to evaluate on.", place=places.INPUT)
    predict_file: str | None = setting(None, "Of a span labeler: SQuAD JSON to evaluate on.", place=places.INPUT)


@dataclasses.dataclass(frozen=True)
class FineTunedSettings(Settings):
    """A fine-tuned model, and the data of its task.

    Attributes:
      metadata: TaskMetadata of the model, once resolved; None of one without, where `needs_task` is False.
      task: the task's settings, of data_prep.tasks, once resolved.
      tuning: TuningSettings of which data are read, once resolved.
    """

    always_required: ClassVar = ("init_checkpoint",)

    model: ModelSettings = dataclasses.field(default_factory=ModelSettings)
    tokenizer: TokenizerSettings = dataclasses.field(default_factory=TokenizerSettings)
    data: DataSettings = dataclasses.field(default_factory=DataSettings)
    metadata: task_metadata.TaskMetadata | None = dataclasses.field(
        default=None, compare=False, repr=False, kw_only=True)
    task: Settings | None = dataclasses.field(default=None, kw_only=True)
    tuning: Settings | None = dataclasses.field(default=None, kw_only=True)

    needs_task = True

    def completed(self):
        """See Settings; InputError for a model that was not fine-tuned, or data of another task."""
        checkpoint = self.model.init_checkpoint
        with paths.errors_of("init_checkpoint"):
            metadata = task_metadata.read(checkpoint)
            path = model_folder.find_file(checkpoint, RUN_FILE)
        tokenizer = self.tokenizer
        if metadata and "max_seq_length" not in metadata.unknown:
            tokenizer = dataclasses.replace(tokenizer, max_seq_length=metadata.max_seq_length)
        settings = dataclasses.replace(self, metadata=metadata, tokenizer=tokenizer)
        if not self.needs_task:
            return settings
        if metadata is None or metadata.kind not in DATA:
            raise InputError(f"no {task_metadata.TASK_FILE} there says that it was fine-tuned for a task",
                             "init_checkpoint", checkpoint)
        task = DATA[metadata.kind].Settings.of_model(read_json_object(path) if path else {}, self.data)
        return dataclasses.replace(settings, task=task, tuning=self.reads())

    def reads(self):
        """The TuningSettings of which of the task's data are read, and how a model is trained on them."""
        return TuningSettings(do_eval=True)


@dataclasses.dataclass(frozen=True)
class QuantizationSettings(FineTunedSettings):
    """A fine-tuned model, its development data, and where the table goes."""

    eval_batch_size: int = setting(32, "Examples in an evaluation step.", lower=1)
    output_file: str | None = setting(None, "TSV file for the table that is printed.", place=places.OUTPUT_FILE)
