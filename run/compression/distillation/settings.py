"""What a distillation is told. Free of TensorFlow: the script defines its flags of it."""

import dataclasses
import os

from bert_tf.cli import paths, places
from bert_tf.cli.settings import FIXED_IF_USED, Settings, setting
from bert_tf.errors import InputError, renamed
from bert_tf.techniques.layer_maps import INNER, OUTER, check_layers, map_layers, student_config
from run.compression.data_settings import DataSettings
from run.finetuning import task_settings
from run.finetuning.settings import FineTuningSettings, TuningSettings
from run.settings.model import read_config

LAYER_MAPS = ("uniform", "last")


@dataclasses.dataclass(frozen=True)
class TeachingDataSettings(DataSettings):
    """The data, of the task that the teacher was trained for; what else shapes features is as in its run."""

    test_file: str | None = setting(None, "Of a tagger or of multiple choice: file to predict.")
    unlabeled_file: str | None = setting(
        None, "Learn what the teacher answers to the texts of this file in place of the training data. Of a "
              "classifier: a text a line, or two with a tab between them; of another task, a file as --train_file, "
              "whose labels or answers may be missing and are not read. Needs --label_weight=0.")

    def task_settings(self, kind, kept):
        """As DataSettings'."""
        return task_settings.of_model(kind, kept, {
            name: value for name, value in dataclasses.asdict(self).items() if name != "unlabeled_file"}, "teacher")


@dataclasses.dataclass(frozen=True)
class StudentSettings(Settings):
    """Who learns from whom."""

    teacher: str | None = setting(
        None, "The model to learn from: a folder that a fine-tuning script wrote, or OUTPUT_DIR/best of one, or a "
              "checkpoint that it takes. Its task.json says which task. Needed.")
    student_layers: tuple[int, ...] = setting(
        (), "The student has these layers of the teacher, from 0, and its embeddings, pooler and head.", lower=0,
        resume=FIXED_IF_USED)
    student_checkpoint: str | None = setting(
        None, "The student starts from this checkpoint, as --init_checkpoint of fine-tuning; its vocabulary "
              "must be the teacher's.", resume=FIXED_IF_USED)
    student_config_file: str | None = setting(
        None, "The student starts from random weights and has this config: a bert_config.json or the name of a "
              "published size.", resume=FIXED_IF_USED)

    def check_student(self):
        """Raises InputError unless the teacher is given, and one way in which the student begins."""
        if not self.teacher:
            raise InputError("`teacher` is required")
        ways = [name for name in ("student_layers", "student_checkpoint", "student_config_file") if getattr(self, name)]
        if not ways:
            raise InputError("`student_layers` is required, or `student_checkpoint`, or `student_config_file`")
        if len(ways) > 1:
            raise InputError(f"`{ways[1]}`: the student is that of `{ways[0]}`; give one of them")
        if self.student_config_file and not os.path.splitext(self.student_config_file)[1]:
            return  # a published size; another name is refused where it is read
        if self.student_config_file:
            paths.check_file("student_config_file", self.student_config_file)

    def check_apart(self, argument, folder):
        """Raises InputError naming `argument` if a folder to write into is the teacher's, or that of the checkpoint."""
        paths.check_apart(argument, folder, {"teacher": self.teacher, "student_checkpoint": self.student_checkpoint})


@dataclasses.dataclass(frozen=True)
class LossSettings(Settings):
    """What the student learns of the teacher, and how much each counts."""

    logits_weight: float = setting(
        1.0, "Weight of the loss between what both answer: KL divergence of softened probabilities times T^2; squared "
             "difference of numbers; of span labelers both ends, of taggers each token.", lower=0)
    label_weight: float = setting(
        0.5, "Weight of the task's own loss, between the student's answer and the true label.", lower=0)
    hidden_weight: float = setting(
        0.0, "Weight of the squared difference of hidden states, embeddings included, mean over tokens and width, sum "
             "over layers; of other width than the teacher's they go through a projection that is trained along.",
        lower=0)
    attention_weight: float = setting(
        0.0, "Weight of the squared difference of attention scores before softmax, mean over heads and pairs of "
             "tokens, sum over layers. Needs as many heads as the teacher has.", lower=0)
    cls_weight: float = setting(
        0.0, "Weight of the squared distance of normalised [CLS] states of all layers but the last (patient "
             "distillation), sum over layers.", lower=0)
    temperature: float = setting(1.0, "T, by which logits are divided.", lower=1e-3)
    layer_map: str = setting(
        "uniform", "The teacher's layer that each of the student's is compared with: uniform, as deep in proportion; "
                   "last, the last ones; or their numbers from 0 with commas, one for each layer of the student.")
    inner_proportion: float = setting(
        0.0, "Share of the training steps, the first, in which hidden states, attention scores and [CLS] states alone "
             "count, and after which answers and labels alone do (TinyBERT's two steps); 0 for all at once.",
        lower=0, upper=1)

    replacing_rate: float | None = setting(
        None, "BERT-of-Theseus: each layer of the student takes the place of its group of the teacher's with this "
              "probability, anew at each step; the others are the teacher's, frozen. It rises linearly to 1. Needs a "
              "student of the teacher's width, and no inner losses.", lower=0, upper=1)
    replacing_proportion: float = setting(
        0.5, "With --replacing_rate: share of the training steps after which the probability is 1, and the student "
             "trains alone.", lower=0, upper=1)

    def check(self):
        """See Settings."""
        if not self.weights:
            raise InputError("`logits_weight`=0: nothing is to be learned, all weights are 0")
        inner, outer = ([name for name in names if name in self.weights] for names in (INNER, OUTER))
        if self.inner_proportion and not inner:
            raise InputError(f"`inner_proportion`={self.inner_proportion}: there is no inner loss; give "
                             "`hidden_weight`, `attention_weight` or `cls_weight`")
        if self.replacing_rate is not None and inner:
            raise InputError(f"`replacing_rate`={self.replacing_rate}: layers are mixed with the teacher's, and cannot "
                             f"be compared with them; give `{inner[0]}_weight`=0")
        if 0 < self.inner_proportion < 1 and not outer:
            raise InputError(f"`inner_proportion`={self.inner_proportion}: there is nothing to learn after it; give "
                             "`logits_weight` or `label_weight`")
        self.parsed_layer_map  # noqa: B018 (raises)

    @property
    def weights(self):
        """Dict of the losses that count -> weight."""
        weights = {name: getattr(self, f"{name}_weight") for name in (*OUTER, *INNER)}
        return {name: weight for name, weight in weights.items() if weight}

    @property
    def asks_teacher(self):
        """Whether there is anything to learn from the teacher; without, the student is fine-tuned alone."""
        return set(self.weights) != {"label"}

    @property
    def parsed_layer_map(self):
        """`layer_map` as bert_tf.techniques.layer_maps takes it."""
        if self.layer_map in LAYER_MAPS:
            return self.layer_map
        try:
            return tuple(int(layer) for layer in self.layer_map.split(","))
        except ValueError:
            raise InputError(f"`layer_map`={self.layer_map}: it must be {', '.join(LAYER_MAPS)}, or numbers of layers "
                             "with commas between them") from None


@dataclasses.dataclass(frozen=True)
class AnswerSettings(Settings):
    """Where the teacher's answers come from."""

    keep_answers: bool = setting(
        True, "Whether the teacher is asked once, and its answers are kept on disk for all epochs and further runs; "
              "--nokeep_answers asks it in each step.")
    answers_dir: str | None = setting(
        None, "Folder for the answers of one teacher; of several data or settings each in a folder of its own there. "
              "Unset means OUTPUT_DIR/answers.")

    def check(self):
        if self.answers_dir and not self.keep_answers:
            raise InputError(f"`answers_dir`={self.answers_dir}: answers are kept there; leave `nokeep_answers` out")


@dataclasses.dataclass(frozen=True)
class DistillationSettings(FineTuningSettings):
    """A distillation: a fine-tuning run of the student, and what it learns beside labels."""

    tuning: TuningSettings = dataclasses.field(default_factory=lambda: TuningSettings(do_train=True, do_eval=True))
    data: TeachingDataSettings = dataclasses.field(default_factory=TeachingDataSettings)
    student: StudentSettings = dataclasses.field(default_factory=StudentSettings)
    losses: LossSettings = dataclasses.field(default_factory=LossSettings)
    answers: AnswerSettings = dataclasses.field(default_factory=AnswerSettings)

    def check(self):
        super().check()
        if self.data.unlabeled_file and self.losses.label_weight:
            raise InputError(f"`unlabeled_file`={self.data.unlabeled_file}: there are no labels to learn; give "
                             "`label_weight`=0")
        if self.answers.keep_answers and self.devices.strategy_name == "multi_worker_mirrored":
            raise InputError("`distribution_strategy`=multi_worker_mirrored: several processes would write the "
                             "teacher's answers; give `nokeep_answers`")
        if self.tuning.early_stopping_evals and self.losses.inner_proportion:
            raise InputError(f"`early_stopping_evals`={self.tuning.early_stopping_evals}: not with `inner_proportion`, "
                             "since scores rise only after the inner losses")

    def read_configs(self, teacher):
        """The BertConfigs of the student and of the teacher, once all that needs no TensorFlow is checked.

        Args:
          teacher: run.compression.distillation.teachers.Teacher.

        Raises:
          InputError: what is wrong or missing; sizes of the two that cannot be compared.
        """
        if self.data.unlabeled_file:
            paths.check_file("unlabeled_file", self.data.unlabeled_file)
        places.check(dataclasses.replace(
            self, tuning=dataclasses.replace(self.tuning, do_train=not self.data.unlabeled_file)))
        self.check_files()
        self.student.check_apart("output_dir", self.training.output_dir)
        if self.answers.answers_dir:
            paths.check_output_dir("answers_dir", self.answers.answers_dir)
        config = config_of_student(self.student, self.model, teacher.config, self.tokenizer.max_seq_length)
        check_sizes(self.losses, config, teacher.config)
        if self.losses.replacing_rate is not None and self.step.recompute_activations:
            raise InputError(f"`replacing_rate`={self.losses.replacing_rate}: not with `recompute_activations`")
        return config, teacher.config


def config_of_student(student, model, teacher, max_seq_length):
    """The BertConfig of a student.

    Args:
      student: StudentSettings.
      model: ModelSettings of what it starts from.
      teacher: BertConfig.
      max_seq_length: int.

    Raises:
      InputError: a layer that the teacher lacks, a config that cannot be read, too long sequences.
    """
    if max_seq_length > teacher.max_position_embeddings:
        raise InputError(f"`max_seq_length`={max_seq_length}: the teacher was made for at most "
                         f"{teacher.max_position_embeddings}")
    if student.student_layers:
        check_layers("student_layers", student.student_layers, teacher.num_hidden_layers)
        if teacher.num_hidden_groups:
            raise InputError(f"`student_layers`={','.join(map(str, student.student_layers))}: the teacher's layers "
                             "share their weights; give `student_config_file` or `student_checkpoint`")
        return student_config(teacher, student.student_layers)
    with renamed(bert_config_file="student_config_file"):
        return read_config(model.bert_config_file, max_seq_length)


def check_sizes(losses, config, teacher):
    """Raises InputError for the BertConfigs of a student and a teacher that LossSettings cannot compare."""
    weights, rate = losses.weights, losses.replacing_rate
    if rate is not None:
        map_layers("uniform", config.num_hidden_layers, teacher.num_hidden_layers)
        if config.hidden_size != teacher.hidden_size:
            raise InputError(f"`replacing_rate`={rate}: the student has width {config.hidden_size} and the teacher "
                             f"{teacher.hidden_size}: layers of one cannot stand in for those of the other")
        if config.num_hidden_groups:
            raise InputError(f"`replacing_rate`={rate}: the student's layers share their weights, and cannot be "
                             "replaced each by itself")
    if set(INNER) & set(weights):
        layers = map_layers(losses.parsed_layer_map, config.num_hidden_layers, teacher.num_hidden_layers)
        heads = {sizes[0] for sizes in config.layer_sizes}, {teacher.layer_sizes[layer][0] for layer in layers}
        if "attention" in weights and not len(heads[0]) == len(heads[0] | heads[1]) == 1:
            counts = ["/".join(map(str, sorted(each))) for each in heads]
            raise InputError(f"`attention_weight`={weights['attention']}: the student has {counts[0]} heads and the "
                             f"teacher {counts[1]}: their attention cannot be compared; give 0")
    if "cls" in weights and config.num_hidden_layers < 2:
        raise InputError(f"`cls_weight`={weights['cls']}: compares layers before the last, and the student has one; "
                         "give 0")
