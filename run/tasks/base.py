"""The contract of a kind of task in fine-tuning. A subclass for each is in the module of its name.

A kind has three more modules of its name, in data_prep.tasks (its data), bert_tf.tasks, and bert_tf.tasks.graphs,
and a script.
"""

import abc
import copy
from typing import ClassVar

from bert_tf.model_folder.task_metadata import TaskMetadata
from bert_tf.tasks import KINDS
from bert_tf.tasks.graphs import GRAPHS
from run.arrays import batches, packing


class Task(abc.ABC):
    """A kind of task in fine-tuning: its data, and how a model is evaluated on it.

    Args:
      settings: FineTuningSettings.
      kept: TaskMetadata of the model that is used without training, None without one or in training.

    Attributes:
      kind: str. Name in task.json.
      data: data_prep.tasks.TaskData, of the class `data_class`.
      metric: name in what `score` gives by which weights and runs are compared, the higher the better.
      evaluates_predictions: whether the file that is evaluated is the one that is predicted, at once.
      inputs: names of the features that the model takes.
      features: dict of split ("train", "dev", "test") -> dict of arrays [n, ...], those of the splits in use.
    """

    data_class: ClassVar[type]
    kind: ClassVar[str]
    metric: str
    evaluates_predictions: ClassVar[bool] = False
    inputs: ClassVar[tuple] = ("input_ids", "input_mask", "segment_ids")

    def __init__(self, settings, kept):
        self.settings = settings
        self.kept = kept
        self.data = self.data_class(settings.task, settings.tokenizer.max_seq_length, kept)
        self.data.check()
        self.features = {}

    def read(self, tokenizer, ignore_padding):
        """Reads the data of `settings.splits`; writes nothing.

        Args:
          tokenizer: BertTokenizer.
          ignore_padding: whether padding is left out of the model, so that its outputs there mean nothing.

        Raises:
          InputError: naming file and line, or the setting that does not suit them.
        """
        del ignore_padding
        for split in self.settings.splits:
            self.data.examples(split)  # all files are read before the first text is tokenized
        for split in self.settings.splits:
            self.features[split] = self.data.read(split, tokenizer)

    def with_settings(self, settings):
        """This task, and the data it has read, with other FineTuningSettings of the same data."""
        other = copy.copy(self)
        other.settings = settings
        return other

    @property
    def init_checkpoint(self):
        """The checkpoint that the model's weights begin as; None for weights at random."""
        return self.settings.model.init_checkpoint

    def new_model(self, make_encoder):
        """The model to train, made in the strategy's scope; make_encoder: () -> BertEncoder of the run's settings."""
        return self.make_model(make_encoder(), self.metadata)

    def make_model(self, encoder, metadata):
        """A model of the task's kind: BertEncoder, TaskMetadata -> a model of bert_tf.models."""
        return self._graph.model(encoder, metadata)

    @property
    def _graph(self):
        return GRAPHS[self.data.Settings.kind]

    @property
    def _kind(self):
        return KINDS[self.data.Settings.kind]

    def needs(self, variable):
        """Whether answers depend on the variable of that name."""
        return self._kind.needs(variable)

    @property
    def per_position(self):
        """Whether the model's outputs have the positions of the sequence on axis 1."""
        return bool(self._kind.per_position)

    def write_training_data(self, folder):
        """Called before training, once all is checked: for a task that trains from a file in `folder`."""
        del folder

    @property
    def metadata(self):
        """The TaskMetadata to keep with the model."""
        tokenizer = self.settings.tokenizer
        return TaskMetadata(self.kind, tokenizer.max_seq_length, tokenizer.do_lower_case,
                            strip_accents=tokenizer.strip_accents, **self.data.card)

    def head_shapes(self, config):
        """Dict of the head's variables -> shape, of the model of a BertConfig."""
        scope, num_outputs = self._kind.head_scope, self._kind.num_outputs(self.metadata)
        return {f"{scope}output_bias": [num_outputs], f"{scope}output_weights": [num_outputs, config.hidden_size]}

    def has_labels(self, labels):
        """Whether a model's labels, a tuple of str, are those of this task, in its order."""
        return labels == self.metadata.labels

    @property
    def training_files(self):
        """Dict of the setting that names training data -> list of its files."""
        return self.data.training_files

    @property
    def kept_settings(self):
        """Dict of the settings that shape the task's features, with which a run is resumed."""
        return self.data.kept_settings

    @property
    def num_train_examples(self):
        """Examples of an epoch, int."""
        return len(self.features["train"]["input_mask"])

    def read_training_rows(self):
        """Returns the features of all training examples by number, dict of arrays [n, ...]."""
        return self.features["train"]

    def packed_training_batches(self, seed, first_step, share, multiple):
        """As `training_batches`, with several examples in a row, and a multiple of so many rows."""
        return packing.packed_training_batches(
            self.features["train"], self.settings.training.train_batch_size, seed,
            self.settings.num_train_steps(self.num_train_examples), per_position=self.per_position,
            first_step=first_step, multiple=multiple, share=share)

    def training_batches(self, seed, first_step, share, static_shapes):
        """Endless dataset of a HostShare of batches, beginning with batch `first_step`; see run.arrays.batches."""
        return batches.training_batches(
            self.features["train"], self.settings.training.train_batch_size, seed, first_step=first_step,
            static_shapes=static_shapes, share=share)

    @property
    def eval_features(self):
        """Features of the development data, dict of arrays; None where there is nothing to evaluate."""
        return self.features.get("dev")

    @property
    def eval_batch_size(self):
        """Examples in an evaluation step."""
        if self.evaluates_predictions and self.settings.tuning.do_predict:
            return self.settings.tuning.predict_batch_size
        return self.settings.training.eval_batch_size

    @property
    def loss(self):
        """The `bert_tf.losses.TotalLoss` of the model's outputs."""
        return self._graph.loss(self.metadata)

    @abc.abstractmethod
    def score(self, outputs):
        """Outputs for the development data, dict of arrays -> dict of name -> float."""

    @abc.abstractmethod
    def decisions(self, outputs):
        """What a model decides by its outputs, `score`'s: a list with an item for each thing that is decided."""

    @abc.abstractmethod
    def report(self, outputs, folder):
        """Writes what is to be seen of an evaluation, beside its scores, into `folder`; `outputs` as `score`'s."""

    @abc.abstractmethod
    def predict(self, predictor, eval_outputs, folder):
        """Writes predictions for the test data.

        Args:
          predictor: run.arrays.prediction.Predictor.
          eval_outputs: outputs for the development data, None without evaluation.
          folder: where the files go.
        """
