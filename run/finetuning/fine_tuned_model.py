"""A fine-tuned model with the data of its task.

It is evaluated, analyzed, and the source of other models.
"""

import dataclasses
import os

import tensorflow as tf
from tqdm import tqdm

from bert_tf import files
from bert_tf.checkpoints import TokenizerFiles, load_pretrained, open_checkpoint
from bert_tf.checkpoints.saving import write_model
from bert_tf.checkpoints.training_run import RUN_FILE
from bert_tf.cli.run_state import snapshot
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.fast import Fast, FastEncoder
from bert_tf.techniques.compression.importance import importance, normalize_importances
from run.finetuning.settings import FineTuningSettings
from run.finetuning.tasks import TASKS
from run.finetuning.tasks.base import Task
from run.training.host_batches import WHOLE
from run.training.padding import Padding
from run.training.prediction import Predictor


@dataclasses.dataclass(frozen=True)
class FineTunedModel:
    """A fine-tuned model. Models derived from it have the same task.

    Attributes:
      path: Path of its checkpoint, a directory or prefix.
      config: BertConfig.
      task: Task that has read its data.
    """

    path: str
    config: BertConfig
    task: Task

    @classmethod
    def open(cls, settings):
        """Opens a model and reads the data of its task.

        Args:
          settings: FineTunedSettings, resolved.

        Raises:
          InputError: If the data or the vocabulary do not match the model, or the development data
            has no answers.
        """
        groups = {
            field.name: getattr(settings, field.name)
            for field in dataclasses.fields(FineTuningSettings)
            if hasattr(settings, field.name)
        }
        path = settings.model.init_checkpoint
        config = settings.model.config
        task = TASKS[settings.metadata.kind].open(FineTuningSettings(**groups), settings.metadata)
        task = task.read(settings.tokenizer.read_tokenizer(path, config), Padding.REMOVED)
        return cls(path, config, task)

    def read_tensors(self):
        """Returns the weights, dict of canonical name to StoredTensor."""
        return open_checkpoint(self.path).tensors

    def make_model(self, padding=Padding.REMOVED):
        """Creates the task's model with its weights.

        Raises:
          InputError: If the checkpoint lacks weights of the task, or has them in another shape.
        """
        encoder = FastEncoder(self.config, Fast(remove_padding=padding is Padding.REMOVED))
        model = self.task.make_model(encoder, self.task.metadata)
        missing = [
            name for name in load_pretrained(model, self.path).missing if self.task.needs(name)
        ]
        if missing:
            raise InputError(
                f"is not a fine-tuned {self.task.kind}; it lacks {', '.join(missing)}",
                "init_checkpoint",
                self.path,
            )
        return model

    def predict(self, model):
        """Returns the outputs of a model for the development data, dict of arrays.

        Retraces the model.
        """
        predictor = Predictor(
            tf.distribute.get_strategy(), model, per_position=self.task.per_position
        )
        return predictor(self.task.eval_features, self.task.eval_batch_size, "evaluating")

    def score(self):
        """Returns the scores on the development data, dict of name to float."""
        return self.task.score(self.predict(self.make_model()))

    def measure_importance(self, num_examples, seed):
        """Returns the importances of heads and of neurons for some training examples.

        They have norm 1 in each layer.

        `num_examples` is rounded up to batches.
        """
        num_batches = -(-num_examples // self.task.settings.training.train_batch_size)
        batches = self.task.training_batches(seed, 0, WHOLE, Padding.DYNAMIC).take(num_batches)
        found = importance(
            self.make_model(Padding.DYNAMIC),
            self.task.loss,
            tqdm(
                batches,
                total=num_batches,
                desc="measuring importance",
                unit="batch",
                dynamic_ncols=True,
            ),
        )
        return [normalize_importances(layers) for layers in found]

    def write(self, folder, tensors, config):
        """Writes a derived model.

        Its directory contains everything that evaluation, export, and training require.

        Args:
          folder: Path of the directory, created if it does not exist. Files of the same names are
            overwritten.
          tensors: Dict of canonical name to StoredTensor.
          config: BertConfig.

        Returns:
          FineTunedModel. The derived model.
        """
        vocabulary = TokenizerFiles(self.task.settings.tokenizer.vocab_file)
        write_model(folder, tensors, config, vocabulary, self.task.metadata)
        write_json(os.path.join(folder, RUN_FILE), snapshot(self.task.data.resolved_settings))
        return dataclasses.replace(self, path=folder, config=config)


def write_json(path, values):
    """Writes a JSON file."""
    with files.new_file(path) as file:
        file.write(files.to_json(path, values, indent=2) + "\n")
