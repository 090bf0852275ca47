"""Settings of training techniques. Scripts define their flags from this module, so it does not import TensorFlow.

The rules of the fields (`not_with`) are the only table of techniques that cannot be combined.
"""

import dataclasses

from bert_tf.cli import places
from bert_tf.cli.settings import FIXED, FIXED_IF_USED, MAY_CHANGE_IF_USED, Settings, setting
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.model_folder.task_metadata import TaskMetadata
from bert_tf.techniques.layer_maps import INNER, OUTER

LAYER_MAPS = ("uniform", "last")
ON_PACKS = "pack_sequences; its loss takes a row for one sequence, logits alone can be learned on packs"
MIXED = "; layers are mixed with the teacher's, and cannot be compared with them"


@dataclasses.dataclass(frozen=True)
class Int8Settings(Settings):
    """Training for int8."""

    quantize_from_step: int | None = setting(
        None, "From this step on train for int8: matrices and what they are multiplied with are rounded as in a LiteRT "
              "file with int8 weights, which then answers as the model does. The score is of the rounded model; unset, "
              "nothing is rounded.", lower=0, resume=MAY_CHANGE_IF_USED)


@dataclasses.dataclass(frozen=True)
class WeightPruningSettings(Settings):
    """Pruning of weights of the encoder's matrices during training."""

    weight_pruning: str | None = setting(
        None, "Set weights of the encoder's matrices to 0 while training, more and more by a cubic schedule: those of "
              "the least magnitude. Files compress better, nothing gets faster. Needs --do_train.",
        choices=("magnitude",), needs="do_train", resume=FIXED)
    keep_weights: float = setting(
        0.15, "With --weight_pruning: share of each matrix's weights that stays, over 0.", lower=0, upper=1,
        needs="weight_pruning", resume=FIXED_IF_USED)
    pruning_begin: float = setting(
        0.1, "With --weight_pruning: share of the training steps after which it begins.", lower=0, upper=1,
        needs="weight_pruning", resume=FIXED_IF_USED)
    pruning_end: float = setting(
        0.7, "With --weight_pruning: share of the training steps after which it has ended; the weights that stay then "
             "are trained on.", lower=0, upper=1, needs="weight_pruning", resume=FIXED_IF_USED)

    def check(self):
        if not self.keep_weights:
            raise InputError("`keep_weights`=0.0: it must be over 0")
        if self.pruning_begin > self.pruning_end:
            raise InputError(f"`pruning_begin`={self.pruning_begin}: it must be at most `pruning_end`="
                             f"{self.pruning_end}")


@dataclasses.dataclass(frozen=True)
class TrainedWeightsSettings(Settings):
    """Selection of the weights to train, and their learning rates."""

    freeze_layers: int | None = setting(
        None, "Keep the embeddings and so many of the lowest layers as they are: steps are faster and need less "
              "memory. 0 keeps the embeddings alone; unset, all is trained. Needs --do_train.", lower=0,
        needs="do_train", not_with="weight_pruning", resume=FIXED)
    layerwise_learning_rate_decay: float = setting(
        1.0, "Each layer learns at so many times the rate of the one above it, over 0, and the embeddings at so many "
             "times that of the lowest; the top layer, the pooler and the head at --learning_rate. 1 for one rate.",
        lower=0, upper=1, needs="do_train", resume=FIXED)
    lora_rank: int | None = setting(
        None, "LoRA: keep the encoder as it is, and train adapters of this rank on the kernels of attention and "
              "feed-forward network, with the pooler and the head; 8 is usual, with a --learning_rate of 1e-4 to 1e-3. "
              "OUTPUT_DIR/adapter.safetensors has what was trained.", lower=1, needs="do_train",
        not_with=("weight_pruning", "quantize_from_step"), resume=FIXED)
    lora_alpha: float = setting(
        16.0, "With --lora_rank: adapters add their product times this over the rank; over 0.", lower=0,
        needs="lora_rank", resume=FIXED)

    def check(self):
        for name in ("layerwise_learning_rate_decay", "lora_alpha"):
            if not getattr(self, name):
                raise InputError(f"`{name}`=0.0: it must be over 0")

    def check_model(self, config):
        """Raises InputError if the model, a BertConfig, does not allow these settings."""
        if self.freeze_layers is not None and self.freeze_layers > config.num_hidden_layers:
            raise InputError(f"`freeze_layers`={self.freeze_layers}: the model has {config.num_hidden_layers} layers")
        if self.lora_rank and self.lora_rank > config.hidden_size:
            raise InputError(f"`lora_rank`={self.lora_rank}: it must be at most the model's width, "
                             f"{config.hidden_size}")
        if self.lora_rank and self.freeze_layers == config.num_hidden_layers:
            raise InputError(f"`freeze_layers`={self.freeze_layers}: leaves no layer for `lora_rank`={self.lora_rank}")
        if self.layerwise_learning_rate_decay != 1 and config.num_hidden_groups is not None:
            raise InputError(f"`layerwise_learning_rate_decay`={self.layerwise_learning_rate_decay}: the model's "
                             "layers share their weights, and cannot each learn at a rate of its own")


@dataclasses.dataclass(frozen=True)
class StudentSettings(Settings):
    """The teacher, and the initialization of the student."""

    teacher: str | None = setting(
        None, "The model to learn from: a folder that a fine-tuning script wrote, or OUTPUT_DIR/best of one, or a "
              "checkpoint that it takes. Its task.json says which task. Needed.", required=True,
        place=places.CHECKPOINT)
    student_layers: tuple[int, ...] = setting(
        (), "The student has these layers of the teacher, from 0, and its embeddings, pooler and head.", lower=0,
        required="without student_checkpoint or student_config_file", resume=FIXED_IF_USED)
    student_checkpoint: str | None = setting(
        None, "The student starts from this checkpoint, as --init_checkpoint of fine-tuning; its vocabulary "
              "must be the teacher's.", place=places.CHECKPOINT, not_with="student_layers", resume=FIXED_IF_USED)
    student_config_file: str | None = setting(
        None, "The student starts from random weights and has this config: a bert_config.json or the name of a "
              "published size.", place=places.MODEL, not_with=("student_layers", "student_checkpoint"),
        resume=FIXED_IF_USED)


@dataclasses.dataclass(frozen=True)
class LossSettings(Settings):
    """Losses of the student, and their weights."""

    logits_weight: float = setting(
        1.0, "Weight of the loss between what both answer: KL divergence of softened probabilities times T^2; squared "
             "difference of numbers; of span labelers both ends, of taggers each token.", lower=0)
    label_weight: float = setting(
        0.5, "Weight of the task's own loss, between the student's answer and the true label.", lower=0)
    hidden_weight: float = setting(
        0.0, "Weight of the squared difference of hidden states, embeddings included, mean over tokens and width, sum "
             "over layers; of other width than the teacher's they go through a projection that is trained along.",
        lower=0, not_with=ON_PACKS)
    attention_weight: float = setting(
        0.0, "Weight of the squared difference of attention scores before softmax, mean over heads and pairs of "
             "tokens, sum over layers. Needs as many heads as the teacher has.", lower=0, not_with=ON_PACKS)
    cls_weight: float = setting(
        0.0, "Weight of the squared distance of normalised [CLS] states of all layers but the last (patient "
             "distillation), sum over layers.", lower=0, not_with=ON_PACKS)
    temperature: float = setting(1.0, "T, by which logits are divided.", lower=1e-3)
    layer_map: str = setting(
        "uniform", "The teacher's layer that each of the student's is compared with: uniform, as deep in proportion; "
                   "last, the last ones; or their numbers from 0 with commas, one for each layer of the student.")
    inner_proportion: float = setting(
        0.0, "Share of the training steps, the first, in which hidden states, attention scores and [CLS] states alone "
             "count, and after which answers and labels alone do (TinyBERT's two steps); 0 for all at once.",
        lower=0, upper=1, needs="hidden_weight or attention_weight or cls_weight",
        not_with="early_stopping_evals; scores rise only after the inner losses")

    replacing_rate: float | None = setting(
        None, "BERT-of-Theseus: each layer of the student takes the place of its group of the teacher's with this "
              "probability, anew at each step; the others are the teacher's, frozen. It rises linearly to 1. Needs a "
              "student of the teacher's width, and no inner losses.", lower=0, upper=1, not_with=(
            *(f"{name}_weight{MIXED}" for name in INNER), "recompute_activations"))
    replacing_proportion: float = setting(
        0.5, "With --replacing_rate: share of the training steps after which the probability is 1, and the student "
             "trains alone.", lower=0, upper=1)

    def check(self):
        """See Settings."""
        if not self.weights:
            raise InputError("nothing is to be learned, all weights are 0", "logits_weight", 0)
        if 0 < self.inner_proportion < 1 and not {*OUTER} & {*self.weights}:
            raise InputError("there is nothing to learn after it; give `logits_weight` or `label_weight`",
                             "inner_proportion", self.inner_proportion)
        self.parsed_layer_map  # noqa: B018 (raises)

    @property
    def weights(self):
        """Dict of loss name to weight, for the losses in use."""
        weights = {name: getattr(self, f"{name}_weight") for name in (*OUTER, *INNER)}
        return {name: weight for name, weight in weights.items() if weight}

    @property
    def asks_teacher(self):
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
            raise InputError(f"it must be {', '.join(LAYER_MAPS)}, or numbers of layers with commas between them",
                             "layer_map", self.layer_map) from None


@dataclasses.dataclass(frozen=True)
class AnswerSettings(Settings):
    """Storage of the teacher's outputs."""

    keep_answers: bool = setting(
        True, "During the runs: query the teacher once and read its outputs from disk in all epochs. --nokeep_answers "
              "queries it in each step.")
    keep_teacher_answers: bool = setting(
        False, "After the runs: keep the outputs in OUTPUT_DIR/answers. By default, they are removed.",
        needs="keep_answers=true")
    answers_dir: str | None = setting(
        None, "Folder for the answers of one teacher, which stay there for further runs; of several data or settings "
              "each in a folder of its own there. Unset means OUTPUT_DIR/answers.", needs="keep_answers=true",
        place=places.CACHE_FOLDER)


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
