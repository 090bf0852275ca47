"""The rows of the table: the steps to compile, in order of decreasing relevance."""

import dataclasses

from benchmarks.tpu_compile.settings import CLASSIFIER, GATHER, PEER, PRETRAINING, SERVED

PREDICTIONS = {128: 20, 512: 80}  # Per sequence, as in the original BERT.


@dataclasses.dataclass(frozen=True)
class Plan:
    """One way to run one model, at several batch sizes.

    Attributes:
      workload, model, length, optimizer, recompute, micro_batches: The step to compile.
      batch_sizes: Tuple of int. Examples per step, or per micro-batch if there are several.
      search: bool. Whether to search for the largest batch that fits.
    """

    workload: str
    model: str
    length: int
    batch_sizes: tuple[int, ...]
    optimizer: str = "adamw"
    recompute: bool = False
    micro_batches: int = 1
    search: bool = True

    @property
    def name(self):
        """Unique name, suitable for a file."""
        optimizer = [] if self.workload == SERVED else [self.optimizer]
        return "_".join([self.workload, self.model, str(self.length), *optimizer, *["recompute"] * self.recompute,
                         *[f"micro{self.micro_batches}"] * (self.micro_batches > 1)])

    def settings(self, base, batch_size):
        """Creates the TpuCompileSettings of one row; `base` defines the topology."""
        return dataclasses.replace(
            base, workload=self.workload, bert_config_file=self.model, batch_size=batch_size * self.micro_batches,
            max_seq_length=self.length, max_predictions_per_seq=PREDICTIONS.get(self.length, self.length // 6),
            optimizer=self.optimizer, accumulate_steps=self.micro_batches, recompute_activations=self.recompute,
            lookup=(GATHER,))


PLANS = (
    Plan(PRETRAINING, "base", 128, (32, 64)),
    Plan(PRETRAINING, "base", 512, (8, 16)),
    Plan(PEER, "base", 128, (32,)),
    Plan(PEER, "base", 512, (8,)),
    Plan(PRETRAINING, "large", 128, (16, 32)),
    Plan(PRETRAINING, "large", 512, (4, 8)),
    Plan(PRETRAINING, "base", 128, (32,), optimizer="lamb"),
    Plan(PRETRAINING, "base", 512, (32,), recompute=True),
    Plan(PRETRAINING, "base", 128, (64,), micro_batches=8, search=False),
    Plan(CLASSIFIER, "base", 128, (32,)),
    Plan(SERVED, "base", 128, (1, 32), search=False),
    Plan(PRETRAINING, "large", 512, (16,), recompute=True),
    Plan(PRETRAINING, "base", 128, (128,), recompute=True),
    Plan(PRETRAINING, "large", 128, (64,), recompute=True),
    Plan(PRETRAINING, "large", 128, (16,), optimizer="lamb"),
    Plan(PRETRAINING, "large", 512, (4,), optimizer="lamb", micro_batches=8, search=False),
    Plan(CLASSIFIER, "large", 128, (32,)),
    Plan(CLASSIFIER, "base", 512, (8,)),
    Plan(SERVED, "large", 128, (1, 32), search=False),
    Plan(SERVED, "base", 512, (1, 8), search=False),
)
