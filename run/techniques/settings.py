"""Settings of training techniques.

Scripts define their flags from this module, so it does not import TensorFlow.

The rules of the fields (`NotWith`) are the only table of techniques that cannot be combined.
"""

import dataclasses
from typing import ClassVar

from bert_tf.cli import roles
from bert_tf.cli.rules import Needs, NotWith, Required, any_of, equals
from bert_tf.cli.settings import Settings, setting
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.tasks.metadata import TaskMetadata
from bert_tf.techniques.layer_maps import INNER, OUTER

LAYER_MAPS = ("uniform", "last")
# Condition: inner layers are compared.
INNER_LOSS = any_of("hidden_weight", "attention_weight", "cls_weight")


@dataclasses.dataclass(frozen=True)
class TrainedWeightsSettings(Settings):
    """Selection of the weights to train, their learning rates, and their rounding."""

    rare: ClassVar = True
    outer_settings: ClassVar = ("do_train",)

    freeze_layers: int | None = setting(
        None,
        "Number of lowest layers to freeze, together with the embeddings. 0 freezes only the "
        "embeddings. Saves time and memory. By default, trains all layers.",
        min_value=0,
        rules=[Needs("do_train")],
    )
    layerwise_learning_rate_decay: float = setting(
        1.0,
        "Factor of the learning rate from each layer to the layer below it, and from the lowest "
        "layer to the embeddings. The top layer, the pooler, and the head use --learning_rate. 1 "
        "for no decay.",
        min_value=1e-3,
        max_value=1,
        rules=[Needs("do_train")],
    )
    lora_rank: int | None = setting(
        None,
        "LoRA: freeze the encoder, and train adapters of this rank for the kernels of attention "
        "and feed-forward network, together with the pooler and the head. 8 is common, with a "
        "--learning_rate of 1e-4 to 1e-3. Writes the trained weights to OUTPUT_DIR/adapter, in "
        "the format of PEFT.",
        min_value=1,
        rules=[Needs("do_train"), NotWith("quantize_from_step")],
    )
    quantize_from_step: int | None = setting(
        None,
        "Step at which to begin quantization-aware training: weights and inputs of matrix "
        "multiplications are rounded as in a LiteRT file with int8 weights, which then gives the "
        "same predictions. Evaluations use the rounded model. By default, nothing is rounded.",
        min_value=0,
        changeable=True,
    )

    def check_model(self, config):
        """Raises InputError if the model, a BertConfig, does not allow these settings."""
        if self.freeze_layers is not None and self.freeze_layers > config.num_hidden_layers:
            raise InputError(
                f"must be at most {config.num_hidden_layers}, the number of layers of the model",
                "freeze_layers",
                self.freeze_layers,
            )
        if self.layerwise_learning_rate_decay != 1 and config.num_hidden_groups is not None:
            raise InputError(
                "must be 1, since the layers of the model share their weights",
                "layerwise_learning_rate_decay",
                self.layerwise_learning_rate_decay,
            )


@dataclasses.dataclass(frozen=True)
class StudentSettings(Settings):
    """The teacher, and the initialization of the student."""

    teacher: str | None = setting(
        None,
        "Teacher: the directory of a fine-tuning run, its OUTPUT_DIR/best, or another fine-tuned "
        "checkpoint. Its task.json determines the task. Required.",
        rules=[Required()],
        role=roles.INPUT,
    )
    student_layers: tuple[int, ...] = setting(
        (),
        "0-based layers of the teacher that initialize the student, together with the embeddings, "
        "the pooler, and the head.",
        min_value=0,
        rules=[Required(unless=any_of("student_checkpoint", "student_config_file"))],
    )
    student_checkpoint: str | None = setting(
        None,
        "Checkpoint that initializes the student, as for --init_checkpoint of fine-tuning; its "
        "vocabulary must be the same as the teacher's.",
        role=roles.INPUT,
        rules=[NotWith("student_layers")],
    )
    student_config_file: str | None = setting(
        None,
        "Config of a randomly initialized student: a bert_config.json or the name of a published "
        "size.",
        role=roles.INPUT,
        rules=[NotWith("student_layers"), NotWith("student_checkpoint")],
    )


@dataclasses.dataclass(frozen=True)
class LossSettings(Settings):
    """Losses of the student, and their weights."""

    logits_weight: float = setting(
        1.0,
        "Weight of the loss between the logits of student and teacher: KL divergence of softened "
        "probabilities times T^2, for both ends of a span or for each token; squared difference "
        "for regression.",
        min_value=0,
    )
    label_weight: float = setting(
        0.5, "Weight of the task's own loss, between predictions and true labels.", min_value=0
    )
    hidden_weight: float = setting(
        0.0,
        "Weight of the squared difference of hidden states, including embeddings: mean over "
        "tokens and hidden size, sum over layers. If the hidden sizes differ, a trained "
        "projection maps the student's states.",
        min_value=0,
    )
    attention_weight: float = setting(
        0.0,
        "Weight of the squared difference of attention scores before softmax: mean over heads and "
        "pairs of tokens, sum over layers. Requires equal numbers of heads.",
        min_value=0,
    )
    cls_weight: float = setting(
        0.0,
        "Weight of the squared distance of normalized [CLS] states of all layers except the last "
        "(patient distillation), sum over layers.",
        min_value=0,
    )
    temperature: float = setting(
        1.0,
        "Temperature T, the divisor of the logits.",
        min_value=1e-3,
        rules=[NotWith(equals("logits_weight", 0.0))],
    )
    layer_map: str = setting(
        "uniform",
        "Teacher layer to compare with each student layer. uniform: at the same relative depth. "
        "last: the last layers. Or comma-separated 0-based numbers, one per student layer.",
        rules=[Needs(INNER_LOSS)],
    )

    def check(self):
        """See Settings."""
        if not self.weights:
            raise InputError(
                "all losses have weight 0; set at least one weight", "logits_weight", 0
            )
        self.parsed_layer_map  # noqa: B018 (raises)

    @property
    def weights(self):
        """Dict of loss name to weight, for the losses in use."""
        weights = {name: getattr(self, f"{name}_weight") for name in (*OUTER, *INNER)}
        return {name: weight for name, weight in weights.items() if weight}

    @property
    def uses_teacher(self):
        """True if any loss depends on the teacher. If False, the student is only fine-tuned."""
        return set(self.weights) != {"label"}

    @property
    def parsed_layer_map(self):
        """`layer_map` in the form that `bert_tf.techniques.layer_maps` accepts."""
        if self.layer_map in LAYER_MAPS:
            return self.layer_map
        try:
            return tuple(int(layer) for layer in self.layer_map.split(","))
        except ValueError:
            raise InputError(
                f"must be one of {', '.join(LAYER_MAPS)}, or comma-separated layer numbers",
                "layer_map",
                self.layer_map,
            ) from None


@dataclasses.dataclass(frozen=True)
class Teacher:
    """A fine-tuned model to learn from.

    Attributes:
      path: Path of the directory or checkpoint.
      metadata: TaskMetadata.
      config: BertConfig.
    """

    path: str
    metadata: TaskMetadata
    config: BertConfig
