"""The rows of the table: the steps to compile, in order of decreasing relevance."""

import dataclasses

from benchmarks.accelerator_compile.settings import BFLOAT16, CLASSIFIER, FLOAT16, GATHER, PEER, PRETRAINING, SERVED

PREDICTIONS = {128: 20, 512: 80}  # Per sequence, as in the original BERT.
PACK = 12  # Maximum number of sequences in a packed row.


@dataclasses.dataclass(frozen=True)
class Plan:
    """One way to run one model, at several batch sizes.

    Attributes:
      chips: Tuple of str. Chips to compile for.
      workload, model, length, optimizer, recompute, packed, micro_batches, precision: The step to compile.
      batch_sizes: Tuple of int. Examples per step, or per micro-batch if there are several.
      options: Tuple of str, NAME=VALUE. Options for the compiler, in addition to those of the settings.
      search: bool. Whether to search for the largest batch that fits.
    """

    chips: tuple[str, ...]
    workload: str
    model: str
    length: int
    batch_sizes: tuple[int, ...]
    optimizer: str = "adamw"
    recompute: bool = False
    packed: bool = False
    micro_batches: int = 1
    precision: str = BFLOAT16
    options: tuple[str, ...] = ()
    search: bool = False

    @property
    def name(self):
        """Name suitable for a file, unique for a chip."""
        optimizer = [] if self.workload == SERVED else [self.optimizer]
        return "_".join([self.workload, self.model, str(self.length), *optimizer, *["recompute"] * self.recompute,
                         *["packed"] * self.packed, *[f"micro{self.micro_batches}"] * (self.micro_batches > 1),
                         *[FLOAT16] * (self.precision == FLOAT16), *self.options])

    def settings(self, base, batch_size):
        """Creates the CompileSettings of one row; `base` defines the chip and the compiler's options."""
        return dataclasses.replace(
            base, workload=self.workload, bert_config_file=self.model, batch_size=batch_size * self.micro_batches,
            max_seq_length=self.length, max_predictions_per_seq=PREDICTIONS.get(self.length, self.length // 6),
            max_sequences_per_pack=PACK * self.packed, optimizer=self.optimizer, accumulate_steps=self.micro_batches,
            recompute_activations=self.recompute, precision=self.precision, lookup=(GATHER,),
            compiler_options=(*base.compiler_options, *self.options))


V5E, V6E, GPUS = ("v5e",), ("v6e",), ("h100", "a100")
DEPTH_FIRST = ("xla_memory_scheduler=dfs",)
PLANS = (
    Plan(V5E + GPUS, PRETRAINING, "base", 128, (32,), search=True),
    Plan(V6E, PRETRAINING, "base", 128, (32,)),
    Plan(V5E + V6E + GPUS, PEER, "base", 128, (32,)),
    Plan(V5E + GPUS, PRETRAINING, "base", 512, (8,), search=True),
    Plan(V6E, PRETRAINING, "base", 512, (8,)),
    Plan(V5E + V6E + GPUS, PEER, "base", 512, (8,)),
    Plan(V5E, PRETRAINING, "base", 128, (32,), options=DEPTH_FIRST),
    Plan(V5E, PEER, "base", 128, (32,), options=DEPTH_FIRST),
    Plan(V5E, PRETRAINING, "base", 512, (8,), options=DEPTH_FIRST),
    Plan(V5E, PEER, "base", 512, (8,), options=DEPTH_FIRST),
    Plan(V5E + V6E, PRETRAINING, "base", 512, (8,), packed=True),
    Plan(V5E + GPUS, PRETRAINING, "large", 128, (16,), search=True),
    Plan(V6E, PRETRAINING, "large", 128, (16,)),
    Plan(V5E + GPUS, PRETRAINING, "large", 512, (4,), search=True),
    Plan(V6E, PRETRAINING, "large", 512, (4,)),
    Plan(V5E + GPUS, PRETRAINING, "base", 128, (32,), optimizer="lamb"),
    Plan(V5E + GPUS, PRETRAINING, "base", 512, (32,), recompute=True),
    Plan(V5E + GPUS, CLASSIFIER, "base", 128, (32,)),
    Plan(GPUS, PRETRAINING, "base", 128, (32,), precision=FLOAT16),
    Plan(GPUS, PRETRAINING, "base", 512, (8,), precision=FLOAT16),
    Plan(V5E, PRETRAINING, "base", 128, (64,), micro_batches=8),
    Plan(V5E, SERVED, "base", 128, (1, 32)),
    Plan(V5E, SERVED, "base", 512, (1, 8)),
    Plan(V5E, CLASSIFIER, "base", 512, (8,)),
    Plan(V5E, PRETRAINING, "large", 512, (16,), recompute=True),
    Plan(V5E, PRETRAINING, "large", 512, (4,), optimizer="lamb", micro_batches=8),
    Plan(V5E, CLASSIFIER, "large", 128, (32,)),
    Plan(V5E, SERVED, "large", 128, (1, 32)),
)
