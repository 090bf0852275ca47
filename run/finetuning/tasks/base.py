"""The contract of a kind of task in fine-tuning.

Each kind has a subclass in the module of its name.

A kind has modules of the same name in data_prep.tasks (its data), bert_tf.tasks, and a script.
"""

import abc
import dataclasses
from typing import ClassVar

from bert_tf.cli.settings import Settings
from bert_tf.losses import TotalLoss
from bert_tf.tasks import KINDS, SERVABLES
from bert_tf.tasks.metadata import TaskMetadata
from data_prep.tasks.base import TaskData
from run.finetuning.metrics import glue_scores
from run.training import batches


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Task(abc.ABC):
    """A kind of task in fine-tuning: its data, and the evaluation of models on it.

    `open` creates one without features, and `read` one with them.

    Attributes:
      settings: FineTuningSettings.
      model_metadata: TaskMetadata of a model that is used without training; otherwise None.
      kind: str. Name in task.json.
      data: data_prep.tasks.TaskData, of the class `data_class`.
      metric: str. Name in the result of `score` that weights and runs are compared by; higher is
        better.
      loss: The `bert_tf.losses.TotalLoss` of the model's outputs.
      logits_loss: Key in `bert_tf.techniques.distillation_losses.LOGITS_LOSSES`.
      evaluates_predictions: bool. Whether evaluation and prediction use the same file, in one pass.
      folder: Path of the directory for results and training data.
      features: Dict of split ("train", "dev", "test") to dict of arrays [n, ...], for the splits in
        use.
    """

    data_class: ClassVar[type]
    kind: ClassVar[str]
    metric: ClassVar[str]
    loss: ClassVar[TotalLoss]
    logits_loss: ClassVar[str]
    evaluates_predictions: ClassVar[bool] = False

    settings: Settings
    model_metadata: TaskMetadata | None
    data: TaskData
    folder: str
    features: dict = dataclasses.field(default_factory=dict)

    @classmethod
    def open(cls, settings, model_metadata=None):
        """Creates a task from settings. See the attributes.

        Raises InputError if its settings do not match each other or the model.
        """
        data = cls.data_class(
            settings.task_settings, settings.tokenizer.max_seq_length, model_metadata
        )
        data.check()
        return cls(settings, model_metadata, data, settings.training.output_dir)

    def read(self, tokenizer, padding):
        """Reads the data of `settings.splits`; writes nothing.

        Args:
          tokenizer: BertTokenizer.
          padding: Padding. If it is removed, the model's outputs there are undefined.

        Returns:
          Task with the features.

        Raises:
          InputError: If the data are invalid, with file and line, or if a setting does not match
            them.
        """
        del padding
        for split in self.settings.splits:
            self.data.examples(split)  # Reads all files before tokenizing any text.
        features = {split: self.data.read(split, tokenizer) for split in self.settings.splits}
        return dataclasses.replace(self, features=features | self._read_unlabeled(tokenizer))

    def _read_unlabeled(self, tokenizer):
        """Reads texts without labels, which replace the training data in distillation."""
        if not self._unlabeled_file:
            return {}
        return {"train": self.data.read_unlabeled(self._unlabeled_file, tokenizer)}

    @property
    def _unlabeled_file(self):
        return self.settings.values().get("unlabeled_file")

    def make_model(self, encoder, metadata):
        """Creates a model of the task's kind from a BertEncoder and TaskMetadata.

        The model is from bert_tf.models.
        """
        return SERVABLES[self.data.settings_class.kind].create_model(encoder, metadata)

    @property
    def _kind(self):
        return KINDS[self.data.settings_class.kind]

    def needs(self, variable):
        """Returns whether predictions depend on the variable with this name."""
        return self._kind.needs(variable)

    @property
    def per_position(self):
        """True if axis 1 of the model's outputs is the position in the sequence."""
        return bool(self._kind.per_position)

    def write_training_data(self):  # noqa: B027
        """Writes data for a task that trains from a file.

        Called before each training, after all checks.
        """

    @property
    def metadata(self):
        """The TaskMetadata to save with the model."""
        tokenizer = self.settings.tokenizer
        return TaskMetadata(
            self.kind,
            tokenizer.max_seq_length,
            tokenizer.do_lower_case,
            strip_accents=tokenizer.strip_accents,
            **self.data.metadata_fields,
        )

    def head_shapes(self, config):
        """Returns dict of the head's variables to their shapes.

        `config`: BertConfig of the model.
        """
        scope = self._kind.head_scope
        num_outputs = self._kind.num_outputs(self.metadata)
        return {
            f"{scope}output_bias": [num_outputs],
            f"{scope}output_weights": [num_outputs, config.hidden_size],
        }

    def order_labels(self, labels):
        """Returns the names in this task of the labels of a model, in the model's order.

        `labels`: Tuple of str. Labels that the task lacks keep their names.
        """
        return labels

    @property
    def training_files(self):
        """Dict of the settings that name training data to lists of their files."""
        return (
            {"unlabeled_file": [self._unlabeled_file]}
            if self._unlabeled_file
            else self.data.training_files
        )

    @property
    def num_train_examples(self):
        """Examples per epoch, int."""
        return len(self.features["train"]["input_mask"])

    def read_training_rows(self):
        """Returns the features of all training examples by number, dict of arrays [n, ...]."""
        return self.features["train"]

    def training_batches(self, seed, first_step, share, padding):
        """Creates an endless dataset of a host's rows of batches, from batch `first_step`.

        See run.training.batches.
        """
        return batches.training_batches(
            self.features["train"],
            self.settings.training.train_batch_size,
            seed,
            first_step=first_step,
            padding=padding,
            share=share,
        )

    @property
    def eval_features(self):
        """Features of the development data, dict of arrays, or None without an evaluation."""
        return self.features.get("dev")

    @property
    def eval_batch_size(self):
        """Examples per evaluation step, int."""
        if self.evaluates_predictions and self.settings.do_predict:
            return self.settings.tuning.predict_batch_size
        return self.settings.training.eval_batch_size

    def average(self, outputs):
        """Averages the probabilities of several models.

        Args:
          outputs: List of dicts of arrays. Outputs of each model for the same examples.

        Returns:
          Dict of arrays: outputs whose probabilities are the means.
        """
        return {"logits": glue_scores.average_logits([each["logits"] for each in outputs])}

    @abc.abstractmethod
    def score(self, outputs):
        """Computes metrics, dict of name to float.

        `outputs`: Dict of arrays, the outputs for the development data.
        """

    @abc.abstractmethod
    def decisions(self, outputs):
        """Returns the model's decisions, a list with one item per decision.

        `outputs`: See `score`.
        """

    def report(self, outputs, folder):  # noqa: B027
        """Writes files about an evaluation, in addition to its scores, to `folder`.

        `outputs`: See `score`.
        """

    @abc.abstractmethod
    def predict(self, predictor, eval_outputs, folder):
        """Writes predictions for the test data.

        Args:
          predictor: run.training.prediction.Predictor.
          eval_outputs: Outputs for the development data, or None without evaluation.
          folder: Path of the directory to write to.
        """
