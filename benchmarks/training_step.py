"""Training steps of BERT-Base on a CPU as in the scripts, float32 and bfloat16, compared with tf-models-official.

    python -m benchmarks.training_step

The steps are forward, loss, backward, clipping, and AdamW, with dropout 0.1. All take turns in one process on the same
batches. Pre-training uses examples without padding and examples with the lengths of records; fine-tuning uses MRPC's
lengths. The peer always computes padding.
"""

import dataclasses
import os

import tensorflow as tf
from official.nlp.modeling import models as garden_models

from benchmarks import encoder as encoder_benchmark
from benchmarks import measurements
from benchmarks.flops import measure_matmul_rate
from benchmarks.measurements import Comparison
from bert_tf import losses
from bert_tf.cli import flags, script
from bert_tf.cli.resolution import read_config
from bert_tf.cli.settings import setting
from bert_tf.errors import InputError
from bert_tf.fast import FastEncoder
from bert_tf.models import BertClassifier
from run.settings import DTYPE_POLICIES
from run.training import strategies

NUM_LABELS = 2
KINDS = {"full": "Pre-training, no padding", "records": "Pre-training, lengths of records",
         "mrpc": "Fine-tuning, lengths of MRPC"}
REAL_TOKENS = {"full": 1.0, "records": 0.91, "mrpc": encoder_benchmark.REAL_TOKENS}  # Fraction of the batch.
PEER = "tf-models-official, AdamWeightDecay"


@dataclasses.dataclass(frozen=True)
class TrainingStepSettings(measurements.KeptResults):
    """Settings for the measurement."""

    bert_config_file: str = setting("base", "bert_config.json of the model, or the name of a published size.")
    kinds: tuple[str, ...] = setting(("full", "mrpc"), f"Steps to measure: {', '.join(KINDS)}.")
    train_batch_size: int = setting(8, "Batch size.", lower=1)
    max_seq_length: int = setting(128, "Sequence length in tokens, including padding.", lower=8)
    max_predictions_per_seq: int = setting(20, "Maximum number of masked tokens per pre-training example.", lower=1)
    rounds: int = setting(3, "Number of turns.", lower=1)

    def check(self):
        """See Settings."""
        for kind in self.kinds:
            if kind not in KINDS:
                raise InputError(f"`kinds`={kind}: the kinds are {', '.join(KINDS)}")


def define_flags():
    """Defines the benchmark's flags."""
    flags.define(TrainingStepSettings())


def main(argv):
    """Runs the benchmark with the settings from its flags."""
    del argv
    measure(flags.read(TrainingStepSettings()))


def measure(settings):
    """Prints a row for each kind of step and stores the comparisons; settings: TrainingStepSettings."""
    config = read_config(settings.bert_config_file, settings.max_seq_length)
    rates = {dtype: measure_matmul_rate(dtype) / 1e9 for dtype in ("float32", "bfloat16")}
    print(f"TensorFlow {tf.__version__}, {os.cpu_count()} cores, matrix multiplications in GFLOP/s: "
          + ", ".join(f"{dtype} {rate:.0f}" for dtype, rate in rates.items()))
    print(f"\n{f'step of {settings.train_batch_size} x {settings.max_seq_length}':<34}{'float32':>10}{'bfloat16':>10}"
          f"{'official':>10}{'official/float32':>18}{'float32/bfloat16':>18}")
    comparisons = []
    for kind in settings.kinds:
        features = encoder_benchmark.make_batch(
            config, settings.train_batch_size, settings.max_seq_length, settings.max_predictions_per_seq,
            REAL_TOKENS[kind])
        times = encoder_benchmark.time_calls(make_turns(kind, config, features), settings.rounds)
        print(f"{KINDS[kind]:<34}" + "".join(f"{times[name]:>9.3f}s" for name in ("float32", "bfloat16", "official"))
              + f"{times['official'] / times['float32']:>18.2f}{times['float32'] / times['bfloat16']:>18.2f}",
              flush=True)
        comparisons += [
            Comparison(f"{KINDS[kind]}, a step", PEER, times["float32"], times["official"], "s", False),
            Comparison(f"{KINDS[kind]}, a step in bfloat16", "this project in float32", times["bfloat16"],
                       times["float32"], "s", False)]
    measurements.keep("training_step", settings, comparisons)


def make_turns(kind, config, features):
    """Returns dict of name to traced step: this project's in two dtypes and the peer's."""
    fast = strategies.choose_fast(tf.distribute.get_strategy(), config, remove_padding=True)
    encoders = {name: FastEncoder(config, fast, dtype=DTYPE_POLICIES[name]) for name in ("float32", "bfloat16")}
    if kind != "mrpc":
        return {**{name: encoder_benchmark.our_step(encoder, features) for name, encoder in encoders.items()},
                "official": encoder_benchmark.garden_step(config, features)}
    labels = {"label_ids": features["next_sentence_labels"][:, 0]}
    peer = garden_models.BertClassifier(encoder_benchmark.garden_encoder(config), NUM_LABELS)
    return {**{name: encoder_benchmark.model_step(BertClassifier(encoder, NUM_LABELS), features, lambda outputs:
                   losses.classification_loss(outputs, labels)["loss"]) for name, encoder in encoders.items()},
            "official": encoder_benchmark.garden_model_step(
                peer, encoder_benchmark.garden_inputs(features),
                lambda logits: losses.classification_loss({"logits": logits}, labels)["loss"])}


if __name__ == "__main__":
    script.run(main, define_flags)
