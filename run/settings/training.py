"""Training settings that are independent of the task. Does not import TensorFlow."""

import dataclasses
import re

from bert_tf.cli import places
from bert_tf.cli.settings import FIXED, LARGEST_NUMBER, LARGEST_SEED, MAY_CHANGE, Settings, setting
from bert_tf.errors import InputError

DTYPE_POLICIES = {"float32": "float32", "bfloat16": "mixed_bfloat16", "float16": "mixed_float16"}  # Names in Keras.


def check_positions(argument, batch_size, max_seq_length):
    """Raises InputError naming `argument` if a batch has more positions than an index can address."""
    if batch_size * max_seq_length > LARGEST_NUMBER:
        raise InputError(f"`{argument}`={batch_size}: so many sequences of `max_seq_length`={max_seq_length} fit into "
                         f"no memory; at most {LARGEST_NUMBER // max_seq_length:,} are possible")


@dataclasses.dataclass(frozen=True)
class TrainingSettings(Settings):
    """Batches, checkpoints, and the seed of a run."""

    output_dir: str | None = setting(
        None, "Folder for checkpoints, results and curves; made if missing. Needed.",
        required=True, place=places.RUN_FOLDER)
    train_batch_size: int = setting(32, "Examples in a training step, over all replicas together.", lower=1,
                                    resume=FIXED)
    eval_batch_size: int = setting(8, "Examples in an evaluation step.", lower=1)
    save_checkpoints_steps: int = setting(
        1000, "Steps between two checkpoints; the last step always saves one.", lower=1)
    keep_checkpoint_max: int = setting(5, "How many of the newest checkpoints stay.", lower=1)
    iterations_per_loop: int = setting(
        1000, "Most steps that run in one call of the training function; fewer up to a row of the log, a checkpoint or "
              "an evaluation.", lower=1)
    log_steps: int = setting(
        100, "Number of steps between two rows of the training log, whose losses are means over these steps; a row is "
             "also written at a checkpoint, an evaluation, and every --iterations_per_loop steps. The progress bar "
             "moves and SIGTERM is handled at the same steps: set fewer if steps are slow.", lower=1)
    random_seed: int = setting(12345, "Fixes initial weights, dropout and the order of the data.",
                               most=LARGEST_SEED)


@dataclasses.dataclass(frozen=True)
class StepSettings(Settings):
    """Computation of a training step."""

    accumulate_steps: int = setting(
        1, "Micro-batches into which each replica cuts its part of a batch, one after the other, to need less memory; "
           "the update is that of the whole batch.", lower=1)
    mixed_precision: str = setting(
        "float32", "Type to compute in; weights, their updates, normalisation and losses stay float32. bfloat16 on "
                   "TPU, newer GPUs and CPUs with instructions for it (avx512_bf16, amx_bf16); float16, with a loss "
                   "scale against underflow, on older GPUs.",
        choices=DTYPE_POLICIES, resume=MAY_CHANGE)
    jit_compile: bool = setting(
        False, "Whether XLA compiles forward and backward pass. Padding is then computed too, since XLA needs fixed "
               "shapes; TPUs always compile.")

    recompute_activations: bool = setting(
        False, "Keep only each layer's output for the backward pass and compute its activations again there: less "
               "memory, about a third more work.")

    @property
    def dtype_policy(self):
        """Name of the Keras policy for `mixed_precision`."""
        return DTYPE_POLICIES[self.mixed_precision]


@dataclasses.dataclass(frozen=True)
class OptimizerSettings(Settings):
    """Type and hyperparameters of the optimizer, which `bert_tf.optimization` creates."""

    learning_rate: float = setting(5e-5, "Peak learning rate, reached at the end of the warm-up.", lower=0,
                                   resume=MAY_CHANGE)
    optimizer: str = setting(
        "adamw", "adamw: the original's, for batches up to about a thousand; lamb: for larger ones, with a higher "
                 "--learning_rate.", choices=("adamw", "lamb"), resume=FIXED)
    weight_decay_rate: float = setting(
        0.01, "Share of a weight that decays in a step at rate 1; 0 for none.", lower=0, resume=MAY_CHANGE)
    no_weight_decay: tuple[str, ...] = setting(
        ("LayerNorm", "layer_norm", "bias"), "Regular expressions; a weight in whose name one is found does not decay.",
        resume=MAY_CHANGE)
    clip_norm: float = setting(1.0, "Largest global norm of the gradients; 0 for no clipping.", lower=0,
                               resume=MAY_CHANGE)
    beta_1: float = setting(0.9, "Share of the first moment, the mean of gradients, that a step keeps.", lower=0,
                            resume=MAY_CHANGE)
    beta_2: float = setting(0.999, "Share of the second moment, the mean of their squares, that a step keeps.", lower=0,
                            resume=MAY_CHANGE)
    epsilon: float = setting(1e-6, "Added to the root of the second moment.", lower=1e-12, resume=MAY_CHANGE)
    decay_power: float = setting(
        1.0, "The rate falls as the share of steps left, to this power; 1, the original's, is linear.", lower=1e-3,
        resume=MAY_CHANGE)

    def check(self):
        for name in ("beta_1", "beta_2"):
            if getattr(self, name) >= 1:
                raise InputError(f"`{name}`={getattr(self, name)}: it must be below 1")
        for pattern in self.no_weight_decay:
            try:
                re.compile(pattern)
            except re.error as error:
                raise InputError(f"`no_weight_decay` holds {pattern!r}, which is no regular expression: {error}"
                                 ) from None
