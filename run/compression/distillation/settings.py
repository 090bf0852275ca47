"""What a distillation is told. Free of TensorFlow: the script defines its flags of it."""

import dataclasses
from typing import ClassVar

from bert_tf import files
from bert_tf.cli import places
from bert_tf.cli.resolution import CONFIG, VOCABULARY, read_config, told_values
from bert_tf.cli.script import warn
from bert_tf.cli.settings import FIXED_IF_USED, Settings, setting
from bert_tf.errors import InputError, renamed
from bert_tf.model_folder.finding import find
from bert_tf.techniques.layer_maps import INNER, OUTER, check_layers, map_layers, student_config
from data_prep.tasks import DATA
from run.compression.data_settings import DataSettings
from run.compression.distillation.teachers import Teacher, read_teacher
from run.finetuning.settings import FineTuningSettings, TuningSettings
from run.settings import ModelSettings

LAYER_MAPS = ("uniform", "last")
ON_PACKS = "pack_sequences; its loss takes a row for one sequence, logits alone can be learned on packs"
MIXED = "; layers are mixed with the teacher's, and cannot be compared with them"


@dataclasses.dataclass(frozen=True)
class TeachingDataSettings(DataSettings):
    """The data, of the task that the teacher was trained for; what else shapes features is as in its run."""

    test_file: str | None = setting(None, "Of a tagger or of multiple choice: file to predict.",
                                    place=places.INPUT)
    unlabeled_file: str | None = setting(
        None, "Learn what the teacher answers to the texts of this file in place of the training data. Of a "
              "classifier: a text a line, or two with a tab between them; of another task, a file as --train_file, "
              "whose labels or answers may be missing and are not read. Needs --label_weight=0.",
        needs="label_weight=0.0", place=places.INPUT_FILE)


@dataclasses.dataclass(frozen=True)
class StudentSettings(Settings):
    """Who learns from whom."""

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
    """What the student learns of the teacher, and how much each counts."""

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
            raise InputError(f"it must be {', '.join(LAYER_MAPS)}, or numbers of layers with commas between them",
                             "layer_map", self.layer_map) from None


@dataclasses.dataclass(frozen=True)
class AnswerSettings(Settings):
    """Where the teacher's answers come from."""

    keep_answers: bool = setting(
        True, "Whether the teacher is asked once, and its answers are kept on disk for all epochs and further runs; "
              "--nokeep_answers asks it in each step.")
    answers_dir: str | None = setting(
        None, "Folder for the answers of one teacher; of several data or settings each in a folder of its own there. "
              "Unset means OUTPUT_DIR/answers.", needs="keep_answers=true", place=places.SHARED_FOLDER)


@dataclasses.dataclass(frozen=True)
class DistillationSettings(FineTuningSettings):
    """A distillation: a fine-tuning run of the student, and what it learns beside labels.

    Attributes:
      taught_by: the Teacher, once resolved; `model` has the student's config then.
    """

    told_from: ClassVar = "teacher"

    tuning: TuningSettings = dataclasses.field(default_factory=lambda: TuningSettings(do_train=True, do_eval=True))
    data: TeachingDataSettings = dataclasses.field(default_factory=TeachingDataSettings)
    student: StudentSettings = dataclasses.field(default_factory=StudentSettings)
    losses: LossSettings = dataclasses.field(default_factory=LossSettings)
    answers: AnswerSettings = dataclasses.field(default_factory=AnswerSettings)
    taught_by: Teacher | None = dataclasses.field(default=None, compare=False, repr=False)

    def check(self):
        """See Settings."""
        super().check()
        if self.answers.keep_answers and self.devices.strategy_name == "multi_worker_mirrored":
            raise InputError("several processes would write the teacher's answers; give `nokeep_answers`",
                             "distribution_strategy", "multi_worker_mirrored")

    def completed(self):
        """See Settings.

        Raises:
          InputError: a teacher that is no fine-tuned model, or of another task; data of another task; a student that
            cannot be made, or of another vocabulary.
        """
        teacher, kept = read_teacher(self.student.teacher, self.model.bert_config_file)
        asked = self.data.task_name
        if kept.get("task_name") and asked and kept["task_name"].replace("-", "") != asked.lower().replace("-", ""):
            raise InputError(f"`teacher`={teacher.path} was trained for {kept['task_name']}", "task_name", asked)
        return dataclasses.replace(
            self, taught_by=teacher, task=DATA[teacher.metadata.kind].Settings.of_model(kept, self.data, "teacher"),
            model=start_of(self.student, teacher.config, self.tokenizer.vocab_file),
            tokenizer=dataclasses.replace(self.tokenizer, max_seq_length=teacher.metadata.max_seq_length))

    def check_files(self):
        """See Settings; InputError too for a student and a teacher that cannot be compared."""
        super().check_files()
        check_sizes(self.losses, self.model.config, self.taught_by.config, self.tokenizer.max_seq_length)


def start_of(student, teacher, vocab_file=None):
    """The ModelSettings of what a student starts from, with its config.

    Args:
      student: StudentSettings.
      teacher: BertConfig.
      vocab_file: the teacher's, which that of a `student_checkpoint` must be; None for any.

    Raises:
      InputError: a layer that the teacher lacks, a config that cannot be read, another vocabulary.
    """
    if student.student_layers:
        check_layers("student_layers", student.student_layers, teacher.num_hidden_layers)
        if teacher.num_hidden_groups:
            raise InputError("the teacher's layers share their weights; give `student_config_file` or "
                             "`student_checkpoint`", "student_layers", student.student_layers)
        return ModelSettings(init_checkpoint=student.teacher, config=student_config(teacher, student.student_layers))
    if student.student_config_file:
        with renamed(bert_config_file="student_config_file"):
            return ModelSettings(student.student_config_file, config=read_config(student.student_config_file, 1))
    path = student.student_checkpoint
    found = find({"student_checkpoint": path})
    found.check_no_pickle()
    told = told_values({"bert_config_file": CONFIG, **({"vocab_file": VOCABULARY} if vocab_file else {})}, {}, found,
                       warn)
    if vocab_file and files.read_bytes(told["vocab_file"]) != files.read_bytes(vocab_file):
        raise InputError(f"its vocabulary is not that of `teacher`={student.teacher}", "student_checkpoint", path)
    return ModelSettings(told["bert_config_file"], path, config=read_config(told["bert_config_file"], 1))


def check_sizes(losses, config, teacher, max_seq_length=1):
    """Raises InputError for the BertConfigs of a student and a teacher that LossSettings cannot compare.

    That is also if one of them is made for shorter sequences than `max_seq_length`.
    """
    weights, rate = losses.weights, losses.replacing_rate
    for name, each in (("teacher", teacher), ("student", config)):
        if max_seq_length > each.max_position_embeddings:
            raise InputError(f"the {name} was made for at most {each.max_position_embeddings}", "max_seq_length",
                             max_seq_length)
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
