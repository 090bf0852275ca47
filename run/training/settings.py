"""The settings of training and its devices.

Scripts define their flags from them, without TensorFlow.
"""

import dataclasses
from typing import ClassVar

from bert_tf.cli import roles
from bert_tf.cli.rules import NotWith, Required, any_of, equals
from bert_tf.cli.settings import MAX_SEED, Settings, setting

MAX_EPOCHS = 10**6

CPU_STRATEGY = "mirrored_cpu"
DEFAULT_LOG_STEPS = 100  # Default of --log_steps in a training of at least 20 times as many steps.
# Obsolete flags of the original BERT.
OBSOLETE = ("tpu_zone", "gcp_project", "master", "num_tpu_cores")
TF32 = "tf32"
DTYPE_POLICIES = {
    "float32": "float32",
    TF32: "float32",
    "bfloat16": "mixed_bfloat16",
    "float16": "mixed_float16",
}


@dataclasses.dataclass(frozen=True)
class ActionSettings(Settings):
    """Actions of a job: training and evaluation."""

    do_train: bool = setting(False, "Train the model.", changeable=None)
    do_eval: bool = setting(
        False, "Evaluate the model, after training if --do_train is set.", changeable=None
    )


@dataclasses.dataclass(frozen=True)
class TrainingSettings(Settings):
    """Training: batches, checkpoints, and seed."""

    output_dir: str | None = setting(
        None,
        "Directory for checkpoints, results, and loss curves; created if it does not exist. "
        "Required.",
        rules=[Required()],
        role=roles.RUN_FOLDER,
    )
    train_batch_size: int = setting(32, "Batch size for training, over all replicas.", min_value=1)
    eval_batch_size: int = setting(8, "Batch size for evaluation.", min_value=1, changeable=True)
    save_checkpoints_steps: int = setting(
        1000,
        "Number of steps between checkpoints; the last step always saves one.",
        min_value=1,
        changeable=True,
    )
    keep_checkpoint_max: int = setting(
        5,
        "Maximum number of checkpoints to keep. Older checkpoints are deleted.",
        min_value=1,
        changeable=True,
    )
    iterations_per_loop: int = setting(
        1000,
        "Maximum number of steps per call of the training function; a call also ends at each row "
        "of the log, checkpoint, and evaluation.",
        min_value=1,
        changeable=True,
    )
    log_steps: int | None = setting(
        None,
        "Number of steps between rows of the training log, whose losses are means over these "
        f"steps. Defaults to {DEFAULT_LOG_STEPS}, or to a twentieth of the steps in a shorter "
        "run. The log also has a row at each checkpoint and evaluation, and every "
        "--iterations_per_loop steps. SIGTERM and Ctrl-C are handled at the same steps: set a "
        "lower number if steps are slow.",
        min_value=1,
        changeable=True,
    )
    random_seed: int = setting(
        12345,
        "Seed of the initial weights, of dropout, and of the order of the data.",
        max_magnitude=MAX_SEED,
    )


@dataclasses.dataclass(frozen=True)
class PrecisionSettings(Settings):
    """Type of the computations."""

    mixed_precision: str = setting(
        "float32",
        "Type of the computations; weights, updates, normalization, and losses remain float32. "
        "tf32: GPUs round the inputs of matrix multiplications to 10 bits (TensorFloat-32, NVIDIA "
        "Ampere and newer). bfloat16: for TPUs, newer GPUs, and CPUs with instructions for it "
        "(avx512_bf16, amx_bf16). float16: for older GPUs, with loss scaling against underflow.",
        choices=DTYPE_POLICIES,
        changeable=True,
    )

    @property
    def dtype_policy(self):
        """Name of the Keras policy for `mixed_precision`."""
        return DTYPE_POLICIES[self.mixed_precision]

    @property
    def is_16_bit(self):
        """True if layers compute in 16 bits."""
        return self.dtype_policy != "float32"


@dataclasses.dataclass(frozen=True)
class StepSettings(PrecisionSettings):
    """Computation of a training step."""

    rare: ClassVar = True

    accumulate_steps: int = setting(
        1,
        "Gradient accumulation: number of micro-batches that each replica processes per update, "
        "to save memory. The update is the same as for the entire batch.",
        min_value=1,
        changeable=True,
    )
    jit_compile: bool = setting(
        False,
        "Compile the forward and backward pass with XLA. This also computes padding, since XLA "
        "requires fixed shapes. TPUs always compile.",
        changeable=True,
    )
    recompute_activations: bool = setting(
        False,
        "Activation checkpointing: keep only the output of each layer for the backward pass, and "
        "recompute its activations. Saves memory for about a third more computation.",
        changeable=True,
    )


@dataclasses.dataclass(frozen=True)
class LearningRateSettings(Settings):
    """Learning rate."""

    learning_rate: float = setting(
        5e-5, "Peak learning rate, to which the warm-up rises.", min_value=0, changeable=True
    )


@dataclasses.dataclass(frozen=True)
class ScheduleSettings(LearningRateSettings):
    """Schedule of a training in epochs."""

    num_train_epochs: float = setting(
        3.0, "Number of training epochs.", min_value=0, max_magnitude=MAX_EPOCHS, changeable=True
    )
    warmup_proportion: float = setting(
        0.1,
        "Fraction of the training steps over which the learning rate increases from 0.",
        min_value=0,
        max_value=1,
        changeable=True,
    )


@dataclasses.dataclass(frozen=True)
class OptimizerSettings(LearningRateSettings):
    """Optimizer, which `bert_tf.optimization` creates.

    Except for the learning rate, they are flags of pre-training. Fine-tuning leaves them as in the
    original BERT.
    """

    optimizer: str = setting(
        "adamw",
        "adamw: the original BERT's optimizer, for batch sizes up to about a thousand. lamb: for "
        "larger batches, with a higher --learning_rate.",
        choices=("adamw", "lamb"),
    )
    weight_decay_rate: float = setting(
        0.01,
        "Weight decay per step, relative to the learning rate; 0 for none.",
        min_value=0,
        changeable=True,
    )
    clip_norm: float = setting(
        1.0,
        "Maximum global norm of the gradients; 0 for no clipping.",
        min_value=0,
        changeable=True,
    )
    beta_2: float = setting(
        0.999,
        "Decay rate of the second moment, the mean of squared gradients.",
        min_value=0,
        max_value=1 - 1e-6,
        changeable=True,
    )
    decay_power: float = setting(
        1.0,
        "Power of the learning rate decay, applied to the remaining fraction of steps; 1 is "
        "linear, as in the original BERT.",
        min_value=1e-3,
        changeable=True,
    )


@dataclasses.dataclass(frozen=True)
class DeviceSettings(Settings):
    """Devices to run on. `run.training.strategies` creates the strategy from them."""

    rare: ClassVar = True

    changeable: ClassVar = True

    distribution_strategy: str = setting(
        "one_device",
        "one_device: one CPU or GPU. mirrored: all visible GPUs of this machine. mirrored_cpu: "
        "two replicas on the CPU, for testing without GPUs; not faster than one. "
        "multi_worker_mirrored: the machines in the environment variable TF_CONFIG. tpu: the TPU "
        "of --tpu_name.",
        choices=("one_device", "mirrored", CPU_STRATEGY, "multi_worker_mirrored", "tpu"),
    )
    tpu_name: str | None = setting(
        None, "Name or grpc:// address of the TPU. Defaults to the TPU of this machine."
    )

    @property
    def strategy_name(self):
        """Name of the strategy to create."""
        return self.distribution_strategy

    def notes(self):
        """Yields a note for each obsolete flag of the original BERT that was set."""
        for field, value in self.fields():
            if field.name in OBSOLETE and value != field.default:
                yield f"--{field.name}: obsolete and ignored (see --help)"


@dataclasses.dataclass(frozen=True)
class OriginalDeviceSettings(DeviceSettings):
    """Also the flags of the original BERT, for the scripts that it has."""

    use_tpu: bool = setting(
        False,
        "Short for --distribution_strategy=tpu.",
        rules=[
            NotWith(
                any_of(
                    *(
                        equals("distribution_strategy", name)
                        for name in ("mirrored", CPU_STRATEGY, "multi_worker_mirrored")
                    )
                )
            )
        ],
    )
    tpu_zone: str | None = setting(
        None, "Ignored. Accepted for compatibility with the original BERT; use --tpu_name."
    )
    gcp_project: str | None = setting(
        None, "Ignored. Accepted for compatibility with the original BERT; use --tpu_name."
    )
    master: str | None = setting(
        None, "Ignored. Accepted for compatibility with the original BERT; use --tpu_name."
    )
    num_tpu_cores: int = setting(
        8, "Ignored. Accepted for compatibility with the original BERT; all cores are used."
    )

    @property
    def strategy_name(self):
        """See DeviceSettings."""
        return "tpu" if self.use_tpu else self.distribution_strategy
