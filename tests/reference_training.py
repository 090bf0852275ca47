"""The two reference runs of the original BERT, with this project's Trainer and any strategy.

As a script, it is one worker of the cluster in TF_CONFIG, and prints {kind: {"losses", "norms"}} as
JSON.
"""

import json
import pathlib

import numpy as np
import tensorflow as tf

from bert_tf import losses, models
from bert_tf.checkpoints import load_pretrained, model_tensors
from bert_tf.config import BertConfig
from bert_tf.optimization import create_optimizer
from run.training.step import Trainer
from tests.encoders import make_encoder

REFERENCE = pathlib.Path(__file__).parent / "reference"
LOSSES = {"pretrain": losses.pretraining_loss, "classify": losses.classification_loss}
KINDS = tuple(LOSSES)


def train(kind, strategy, *, loss=None, encoder_options=None, scale_loss=False, **trainer_options):
    """Trains as the original BERT did.

    Args:
      kind: "pretrain" or "classify".
      strategy: tf.distribute.Strategy.
      loss: Loss. Defaults to that of the kind.
      encoder_options: Dict of options of the encoder.
      scale_loss: bool. See create_optimizer.
      trainer_options: Arguments of Trainer.

    Returns:
      The loss of each step, and the norms of the final variables in the order of
      <kind>_variables.json.
    """
    with strategy.scope():
        model = make_model(kind, **(encoder_options or {}))
        schedule = json.loads((REFERENCE / "schedule.json").read_text())
        optimizer = create_optimizer(**schedule, scale_loss=scale_loss)
        optimizer.build(model.trainable_variables)
    trainer = Trainer(strategy, model, optimizer, loss or LOSSES[kind], **trainer_options)
    trainer.set_dataset(read_batches)
    found = [
        float(trainer.train(tf.constant(1))["loss"]) for _ in range(schedule["num_train_steps"])
    ]
    assert trainer.first_bad_step is None
    tensors = model_tensors(model)
    names = json.loads((REFERENCE / f"{kind}_variables.json").read_text())
    return found, [float(np.linalg.norm(tensors[name].read())) for name in names]


def make_model(kind, **encoder_options):
    """Creates a model with the initial weights of a reference run."""
    encoder = make_encoder(
        BertConfig.from_json_file(REFERENCE / "bert_config.json"), **encoder_options
    )
    model = (
        models.BertPretrainer(encoder) if kind == "pretrain" else models.BertClassifier(encoder, 3)
    )
    load_pretrained(model, str(REFERENCE / f"{kind}_init.ckpt"))
    return model


def read_batches(share):
    """Returns an endless dataset of a host's rows of the 25 reference batches; share: HostShare."""
    rows = share.rows(4)
    with np.load(REFERENCE / "batches.npz") as arrays:
        return tf.data.Dataset.from_tensor_slices(
            {
                {"labels": "label_ids"}.get(name, name): values[:, rows]
                for name, values in arrays.items()
            }
        ).repeat()


def main():
    """Trains both runs together with the other workers."""
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    print(
        json.dumps(
            {
                kind: dict(zip(("losses", "norms"), train(kind, strategy), strict=True))
                for kind in KINDS
            }
        )
    )


if __name__ == "__main__":
    main()
