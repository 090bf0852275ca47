"""Training steps of BERT-Base on a CPU as in the scripts, compared with tf-models-official.

    python -m benchmarks.training_step

This project computes in float32 and in bfloat16. The steps are forward, loss, backward, clipping,
and AdamW, with dropout 0.1. All take turns on the same batches. Pre-training uses examples without
padding, and fine-tuning MRPC's lengths. The peer always computes padding.
"""

import tensorflow as tf
from official.nlp.modeling import layers as garden_layers
from official.nlp.modeling import models as garden_models

from benchmarks import models
from benchmarks.measurements import Results, StepSettings, time_turns
from bert_tf import losses
from bert_tf.cli import script
from bert_tf.cli.resolution import read_model_config
from bert_tf.fast import FastEncoder
from bert_tf.models import BertClassifier
from run.training import strategies
from run.training.padding import Padding
from run.training.settings import DTYPE_POLICIES

PEER = "tf-models-official, AdamWeightDecay"
COMMAND = script.Command(StepSettings(), __name__)


def run(settings):
    """Measures both steps; settings: StepSettings."""
    config = read_model_config(settings.bert_config_file, settings.max_seq_length)
    fast = strategies.choose_fast(tf.distribute.get_strategy(), config, Padding.REMOVED)
    with Results("training_step", settings) as results:
        for name, create_steps, token_fraction in (
            ("Pre-training step, no padding", create_pretraining_steps, 1.0),
            ("Fine-tuning step, lengths of MRPC", create_classifier_steps, models.MRPC_TOKENS),
        ):
            features = models.make_batch(
                config,
                settings.train_batch_size,
                settings.max_seq_length,
                settings.max_predictions_per_seq,
                token_fraction,
            )
            encoders = {
                dtype: FastEncoder(config, fast, dtype=DTYPE_POLICIES[dtype])
                for dtype in ("float32", "bfloat16")
            }
            times = time_turns(create_steps(config, encoders, features), settings.rounds)
            results.add(name, times["float32"], {PEER: times["official"]}, "s")
            results.add(
                f"{name}, bfloat16",
                times["bfloat16"],
                {"this project in float32": times["float32"]},
                "s",
            )


def create_pretraining_steps(config, encoders, features):
    """Creates pre-training steps with encoders, and the peer's with the same loss.

    Args:
      config: BertConfig.
      encoders: Dict of name -> BertEncoder.
      features: Dict of tensors, from `models.make_batch`.

    Returns:
      Dict of name -> step, with the peer's as "official".
    """
    peer = garden_models.BertPretrainerV2(
        models.create_garden_encoder(config),
        mlm_activation=lambda x: tf.nn.gelu(x, approximate=True),
        classification_heads=[
            garden_layers.ClassificationHead(config.hidden_size, 2, name="next_sentence")
        ],
    )
    inputs = {
        **models.to_garden_inputs(features),
        "masked_lm_positions": features["masked_lm_positions"],
    }

    def compute_peer_loss(outputs):
        logits = {
            "masked_lm_logits": outputs["mlm_logits"],
            "next_sentence_logits": outputs["next_sentence"],
        }
        return losses.pretraining_loss(logits, features)["loss"]

    steps = {
        name: models.create_pretraining_step(encoder, features)
        for name, encoder in encoders.items()
    }
    return {
        **steps,
        "official": models.create_step(
            peer, inputs, compute_peer_loss, models.create_garden_optimizer()
        ),
    }


def create_classifier_steps(config, encoders, features):
    """Creates fine-tuning steps; see `create_pretraining_steps`."""
    labels = {"label_ids": features["next_sentence_labels"][:, 0]}
    peer = garden_models.BertClassifier(models.create_garden_encoder(config), models.NUM_LABELS)

    def compute_loss(outputs):
        return losses.classification_loss(outputs, labels)["loss"]

    steps = {
        name: models.create_step(BertClassifier(encoder, models.NUM_LABELS), features, compute_loss)
        for name, encoder in encoders.items()
    }
    return {
        **steps,
        "official": models.create_step(
            peer,
            models.to_garden_inputs(features),
            lambda logits: compute_loss({"logits": logits}),
            models.create_garden_optimizer(),
        ),
    }


if __name__ == "__main__":
    COMMAND.run()
