"""The models that a pruning goes through: each is a folder, from which it is loaded, judged, pruned and trained on."""

import dataclasses

import tensorflow as tf

from bert_tf import models
from bert_tf.checkpoints import load_pretrained, open_checkpoint
from bert_tf.compression.importance import importance
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from run.finetuning import runs, task_metadata
from run.finetuning.prediction import Predictor
from run.settings import ModelSettings
from run.training import run_metadata
from run.training.host_batches import WHOLE


@dataclasses.dataclass(frozen=True)
class Stage:
    """A model on the way.

    Attributes:
      folder: of its checkpoint, or a prefix.
      config: BertConfig.
    """

    folder: str
    config: BertConfig

    def tensors(self):
        """Its weights, {canonical name: StoredTensor}."""
        return open_checkpoint(self.folder).tensors


def make_model(stage, task, *, remove_padding):
    """The task model of a Stage.

    Raises:
      InputError: the checkpoint lacks weights of the task, or has them of another shape.
    """
    model = task.make_model(models.BertEncoder(stage.config, remove_padding=remove_padding), task.metadata)
    missing = [name for name in load_pretrained(model, stage.folder).missing if task.needs(name)]
    if missing:
        raise InputError(f"`init_checkpoint`={stage.folder}: is not of a fine-tuned {task.kind}, it lacks "
                         f"{', '.join(missing)}")
    return model


def importance_of(stage, task, num_examples, seed):
    """The Importance of a Stage's heads and neurons over so many training examples, rounded up to whole batches."""
    batch_size = task.settings.training.train_batch_size
    batches = task.training_batches(seed, 0, WHOLE, static_shapes=False).take(-(-num_examples // batch_size))
    return importance(make_model(stage, task, remove_padding=False), task.loss, batches)


def scores_of(stage, task):
    """What a Stage comes to on the development data, dict of name -> float."""
    model = make_model(stage, task, remove_padding=True)
    predictor = Predictor(tf.distribute.get_strategy(), model, per_position=task.per_position)
    return task.score(predictor(task.eval_features, task.eval_batch_size, "evaluating"))


def train(stage, origin, strategy, folder):
    """Trains a Stage's model as the task's settings say, in a folder of its own; goes on where a run there was stopped.

    Whatever trains a model between two rounds does it through this function.

    Args:
      stage: Stage.
      origin: run.compression.folders.Origin.
      strategy: tf.distribute.Strategy.
      folder: of the run.

    Returns:
      The Stage of the trained model, and its scores.
    """
    task = origin.task
    settings = dataclasses.replace(
        task.settings, model=ModelSettings(init_checkpoint=stage.folder),
        training=dataclasses.replace(task.settings.training, output_dir=folder))
    run_metadata.keep(folder, stage.config, {}, origin.vocab_file)
    task_metadata.keep(folder, task.metadata)
    shared = runs.Shared(strategy, stage.config, task)
    tuned = runs.one_run(settings, shared)
    runs.write_results(folder, shared, tuned.results)
    scores = {name: value for name, value in tuned.results.items() if name != "global_step"}
    tuned.free()
    return Stage(folder, stage.config), scores
