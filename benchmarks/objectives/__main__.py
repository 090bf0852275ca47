"""Pre-trains a small model in several ways at equal compute, and prints what each brings.

    python -m benchmarks.objectives --text_file=wikitext2_valid.txt --sst2_dir=SST-2 --output_dir=objectives

Each arm trains a model of 4 layers and width 256 on the same text, CPython's documentation topics with it, for the same
number of FLOPs, padding counted. Judged are the masked LM loss on held-out documents, the same records and masks for
all; accuracy after fine-tuning on part of SST-2; and tokens a second. A comparison that was stopped goes on where it
was; one of other settings needs another folder. Each of the runs takes some ten minutes of a core.
"""

import dataclasses
import os

from benchmarks import measurements
from benchmarks.objectives import arms, report, runs, scores
from bert_tf.checkpoints import find_checkpoint
from bert_tf.cli import flags, paths, script
from bert_tf.cli.settings import Settings, setting
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from run.settings import DTYPE_POLICIES
from run.settings.model import read_config


@dataclasses.dataclass(frozen=True)
class ObjectivesSettings(Settings):
    """Sizes of the comparison."""

    text_file: str | None = setting(None, "Text to train on beside CPython's documentation topics: a sentence a line, "
                                          "an empty line between documents.")
    sst2_dir: str | None = setting(None, "Folder of SST-2's train.tsv and dev.tsv; unset means no fine-tuning.")
    output_dir: str = setting(os.path.join("build", "objectives"), "Folder for records, runs, results.json and curves.")
    bert_config_file: str | None = setting(None, "bert_config.json of another model than 4 layers of width 256.")
    vocab_file: str | None = setting(None, "Vocabulary; unset means one learned of the text.")
    init_checkpoint: str | None = setting(None, "Weights that all start from, of the model of --bert_config_file and "
                                                "--vocab_file; unset means at random.")
    learning_rate: float = setting(1e-3, "Peak of the learning rate in pre-training.", lower=0)
    flops: float = setting(4e13, "FLOPs of matrix products to train each with.", lower=1)
    seeds: tuple[str, ...] = setting(("1", "2"), "Random seeds of training.")
    arms: tuple[str, ...] = setting((), "Numbers of the arms, from 1 on; unset means all.")
    jobs: int = setting(2, "Runs at a time, each on cores of its own.", lower=1)
    max_seq_length: int = setting(128, "Tokens in a row.", lower=16)
    train_batch_size: int = setting(16, "Rows in a step.", lower=1)
    dupe_factor: int = setting(10, "How many times each document is used with static masks.", lower=1)
    mixed_precision: str = setting("bfloat16", "Type to compute in.", choices=tuple(DTYPE_POLICIES))
    points: int = setting(5, "Checkpoints of a run, of which the curves are made.", lower=1)
    finetuning_rows: int = setting(8000, "Rows of SST-2 to fine-tune on.", lower=1)
    finetuning_epochs: float = setting(2.0, "Epochs of fine-tuning.", lower=0)
    rounds: int = setting(5, "How often each step has its turn for its tokens a second.", lower=1)

    def path(self, name):
        """Of a file in the output folder."""
        return os.path.join(self.output_dir, name)

    def check(self):
        """See Settings."""
        measurements.whole_numbers("seeds", self.seeds)
        arms.chosen(self.arms)
        if self.init_checkpoint and not (self.vocab_file and self.bert_config_file):
            raise InputError("`init_checkpoint` needs its `vocab_file` and `bert_config_file`")


def define_flags():
    """Defines the benchmark's flags."""
    flags.define(ObjectivesSettings())


def main(argv):
    """Compares with the flags' settings."""
    del argv
    measure(flags.read(ObjectivesSettings()))


def measure(settings):
    """Runs what is left to run, prints the table, and writes results.json and curves.png; ObjectivesSettings."""
    if settings.text_file:
        paths.check_file("text_file", settings.text_file)
    if settings.vocab_file:
        paths.check_file("vocab_file", settings.vocab_file)
    if settings.init_checkpoint:
        find_checkpoint(settings.init_checkpoint)
    for name in ("train.tsv", "dev.tsv") if settings.sst2_dir else ():
        paths.check_file("sst2_dir", os.path.join(settings.sst2_dir, name))
    paths.check_output_dir("output_dir", settings.output_dir)
    config = small_config(settings)
    compared = arms.chosen(settings.arms)
    runs.prepare(settings, config, compared)
    runs.run_all(settings, config, compared)
    held_out, results = scores.HeldOut(settings, config), {}
    for arm in compared:
        results[arm.name] = {
            "steps": arm.num_steps(settings, config),
            "curves": [held_out.curve(arm, seed) for seed in settings.seeds],
            "scores": [scores.finetuned_score(settings, arm, seed) for seed in settings.seeds]}
    for name, (share, rate) in scores.token_rates(settings, config, compared).items():
        results[name] |= {"real_share": share, "tokens_a_second": rate}
    report.write(settings, results)


def small_config(settings):
    """The BertConfig to train."""
    if settings.bert_config_file:
        return read_config(settings.bert_config_file, settings.max_seq_length)
    return BertConfig(8000, hidden_size=256, num_hidden_layers=4, num_attention_heads=4, intermediate_size=1024,
                      max_position_embeddings=settings.max_seq_length)


if __name__ == "__main__":
    script.run(main, define_flags)
