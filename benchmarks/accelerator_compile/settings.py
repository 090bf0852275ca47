"""The settings of the benchmark. Does not import TensorFlow, because the script defines its flags from them."""

import dataclasses
import os

from benchmarks.accelerator_compile.chips import CHIPS
from bert_tf.cli.settings import Settings, setting
from bert_tf.errors import InputError

PRETRAINING, CLASSIFIER, SERVED, PEER = WORKLOADS = ("pretraining", "classifier", "served", "peer")
LOOKUPS = GATHER, ONE_HOT = ("gather", "one_hot")
OPTIMIZERS = ("adamw", "lamb")
PRECISIONS = BFLOAT16, FLOAT16 = ("bfloat16", "float16")
PRINT, UPDATE, CHECK = ("print", "update", "check")
ROWS_DIR = os.path.join(os.path.dirname(__file__), "rows")


@dataclasses.dataclass(frozen=True)
class CompileSettings(Settings):
    """Settings for the step to compile and the chip."""

    chip: str = setting("v5e", "Chip to compile for.", choices=tuple(CHIPS))
    workload: str = setting(
        PRETRAINING, "Computation to compile: a training step of run_pretraining or run_classifier, the forward pass "
                     "of a served classifier in float32, or the pre-training step of tf-models-official's masked LM "
                     "task.", choices=WORKLOADS)
    precision: str = setting(BFLOAT16, "Compute dtype of a training step. float16 requires a GPU.", choices=PRECISIONS)
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
    compiler_options: tuple[str, ...] = setting(
        (), "Options for the compiler, NAME=VALUE, separated by commas.")
    top: int = setting(10, "Number of the most expensive operations to list.", lower=0)
    table: str = setting(
        "", "Instead of one step, process the rows of a table. `print` prints the rows that `rows_dir` contains. "
            "`update` also compiles the rows of `chip` that are missing, or whose program, compiler, or options "
            "changed. `check` compares the programs of the stored rows of `chip` with the current programs.",
        choices=("", PRINT, UPDATE, CHECK))
    rows_dir: str = setting(ROWS_DIR, "Directory for the rows of the table, one JSON file each.")
    only: str = setting("", "With --table, process only the rows whose name contains this text.")
    tries: int = setting(
        2, "Maximum number of compilations in each search for the largest batch; 0 for an exact search.", lower=0)
    format: str = setting("text", "Format of the printed table.", choices=("text", "markdown"))

    def check(self):
        """See Settings."""
        for lookup in self.lookup:
            if lookup not in LOOKUPS:
                raise InputError(f"`lookup`={lookup}: must be one of {', '.join(LOOKUPS)}")
        for option in self.compiler_options:
            if "=" not in option:
                raise InputError(f"`compiler_options`={option}: must be NAME=VALUE")
        if self.batch_size % self.accumulate_steps:
            raise InputError(f"`batch_size`={self.batch_size}: must be a multiple of `accumulate_steps`, "
                             f"{self.accumulate_steps}")
        if self.workload == PEER and (self.accumulate_steps > 1 or self.recompute_activations
                                      or self.max_sequences_per_pack):
            raise InputError(f"`workload`={PEER}: its task neither accumulates, recomputes, nor packs")
        if self.precision == FLOAT16 and (self.described_chip.is_tpu or self.workload == PEER):
            raise InputError(f"`precision`={FLOAT16}: requires a GPU, and a `workload` of this project")

    @property
    def lookups(self):
        """Values of `lookup` that differ for the workload; serving and the peer have only one."""
        return (GATHER,) if self.workload in (SERVED, PEER) else self.lookup

    @property
    def described_chip(self):
        """The Chip with the name `chip`."""
        return CHIPS[self.chip]

    @property
    def policy(self):
        """Name of the dtype policy of the step."""
        return "float32" if self.workload == SERVED else f"mixed_{self.precision}"

    @property
    def is_pretraining(self):
        """True if the step has masked tokens to predict."""
        return self.workload in (PRETRAINING, PEER)
