"""The settings of the benchmark. Does not import TensorFlow, because the script defines its flags from them."""

import dataclasses
import os

from bert_tf.cli.settings import Settings, setting
from bert_tf.errors import InputError

PRETRAINING, CLASSIFIER, SERVED, PEER = WORKLOADS = ("pretraining", "classifier", "served", "peer")
LOOKUPS = GATHER, ONE_HOT = ("gather", "one_hot")
OPTIMIZERS = ("adamw", "lamb")
TABLE_DIR = os.path.join("build", "tpu_table")


@dataclasses.dataclass(frozen=True)
class Chip:
    """A TPU chip as documented by Google Cloud: memory in bytes, bfloat16 FLOP/s, clock in Hz.

    The clock is derived from the peak: 4 matrix units of 128 x 128 multiply-adds in a v5e, 2 of 256 x 256 in a v6e.
    """

    memory: float
    peak: float
    clock: float


CHIPS = {"v5e": Chip(16 * 2**30, 197e12, 1.5e9), "v6e": Chip(32 * 2**30, 918e12, 1.75e9)}


@dataclasses.dataclass(frozen=True)
class TpuCompileSettings(Settings):
    """Settings for the step to compile and the TPU."""

    workload: str = setting(
        PRETRAINING, "Computation to compile: a training step of run_pretraining or run_classifier, the forward pass "
                     "of a served classifier, or the pre-training step of tf-models-official's masked LM task.",
        choices=WORKLOADS)
    bert_config_file: str = setting("base", "bert_config.json of the model, or the name of a published size.")
    batch_size: int = setting(32, "Batch size of one chip.", lower=1)
    max_seq_length: int = setting(128, "Sequence length in tokens.", lower=4)
    max_predictions_per_seq: int = setting(20, "Maximum number of masked tokens per sequence.", lower=1)
    max_sequences_per_pack: int = setting(
        0, "Maximum number of packed sequences per row of a pre-training step; 0 for unpacked rows.", lower=0)
    optimizer: str = setting("adamw", "Optimizer of a training step.", choices=OPTIMIZERS)
    accumulate_steps: int = setting(1, "Number of micro-batches per batch.", lower=1)
    recompute_activations: bool = setting(False, "Recompute activations in the backward pass.")
    lookup: tuple[str, ...] = setting(
        LOOKUPS, "Lookup of word embeddings: a gather, or a multiplication with one-hot vectors. The script compiles "
                 "each.")
    topology: str = setting("v5e:2x2", "TPU to compile for: kind (" + ", ".join(CHIPS) + ") and layout of its chips. "
                                       "The step uses one chip.")
    top: int = setting(10, "Number of the most expensive operations to list.", lower=0)
    table: bool = setting(
        False, "Compile every row of the table of memory and speed, and print it; takes hours. Rows that `table_dir` "
               "contains are not compiled again. All other flags except `topology` are ignored.")
    table_dir: str = setting(TABLE_DIR, "Directory for the rows of the table, one JSON file each.")
    only: str = setting(
        "", "Compile only the rows of the table whose name contains this text. The printed table has all rows in "
            "`table_dir`.")
    tries: int = setting(
        0, "Maximum number of compilations in each search for the largest batch; 0 for an exact search.", lower=0)
    format: str = setting("text", "Format of the printed table.", choices=("text", "markdown"))

    def check(self):
        """See Settings."""
        if self.topology.split(":")[0] not in CHIPS:
            raise InputError(f"`topology`={self.topology}: must begin with {' or '.join(CHIPS)}, as in v5e:2x2")
        for lookup in self.lookup:
            if lookup not in LOOKUPS:
                raise InputError(f"`lookup`={lookup}: must be one of {', '.join(LOOKUPS)}")
        if self.batch_size % self.accumulate_steps:
            raise InputError(f"`batch_size`={self.batch_size}: must be a multiple of `accumulate_steps`, "
                             f"{self.accumulate_steps}")
        if self.workload == PEER and (self.accumulate_steps > 1 or self.recompute_activations):
            raise InputError(f"`workload`={PEER}: its task neither accumulates nor recomputes")

    @property
    def lookups(self):
        """Values of `lookup` that differ for the workload; serving and the peer have only one."""
        return (GATHER,) if self.workload in (SERVED, PEER) else self.lookup

    @property
    def chip(self):
        """The Chip of `topology`."""
        return CHIPS[self.topology.split(":")[0]]
