"""Fine-tuned models that are looked at, or made into others: each is a folder, from which it is loaded and judged."""

import dataclasses

import tensorflow as tf

from bert_tf.checkpoints import load_pretrained, open_checkpoint
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.fast import Fast, FastEncoder
from run.arrays.prediction import Predictor


@dataclasses.dataclass(frozen=True)
class Stage:
    """A model.

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
    model = task.make_model(FastEncoder(stage.config, Fast(remove_padding=remove_padding)), task.metadata)
    missing = [name for name in load_pretrained(model, stage.folder).missing if task.needs(name)]
    if missing:
        raise InputError(f"`init_checkpoint`={stage.folder}: is not of a fine-tuned {task.kind}, it lacks "
                         f"{', '.join(missing)}")
    return model


def scores_of(stage, task):
    """What a Stage comes to on the development data, dict of name -> float."""
    model = make_model(stage, task, remove_padding=True)
    predictor = Predictor(tf.distribute.get_strategy(), model, per_position=task.per_position)
    return task.score(predictor(task.eval_features, task.eval_batch_size, "evaluating"))
