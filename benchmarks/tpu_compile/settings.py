"""What the benchmark is told. Free of TensorFlow: the script defines its flags of it."""

import dataclasses

from benchmarks.tpu_compile.chips import CHIPS
from bert_tf.cli.settings import Settings, setting
from bert_tf.errors import InputError

LOOKUPS = ("gather", "one_hot")


@dataclasses.dataclass(frozen=True)
class TpuCompileSettings(Settings):
    """What is compiled, and for which TPU."""

    bert_config_file: str = setting("base", "bert_config.json of the model, or the name of a published size.")
    batch_size: int = setting(32, "Examples in a step on one chip.", lower=1)
    max_seq_length: int = setting(128, "Sequence length in tokens.", lower=4)
    max_predictions_per_seq: int = setting(20, "Masked positions in a sequence.", lower=1)
    lookup: tuple[str, ...] = setting(LOOKUPS, "How words are looked up: by a gather, or by a product with one-hot "
                                               "vectors; each is compiled.")
    recompute_activations: bool = setting(False, "Compute activations again in the backward pass.")
    topology: str = setting("v5e:2x2", "TPU to compile for: kind (" + ", ".join(CHIPS) + ") and layout of its chips, "
                                       "of which the step uses one.")
    top: int = setting(10, "How many of the costliest operations to list.", lower=0)

    def check(self):
        """See Settings."""
        if self.topology.split(":")[0] not in CHIPS:
            raise InputError(f"`topology`={self.topology}: must begin with {' or '.join(CHIPS)}, as in v5e:2x2")
        for lookup in self.lookup:
            if lookup not in LOOKUPS:
                raise InputError(f"`lookup`={lookup}: it must be one of {', '.join(LOOKUPS)}")
