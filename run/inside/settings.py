"""Settings for jobs that analyze a model. Scripts define their flags from them; does not import TensorFlow."""

import dataclasses
from typing import ClassVar

from bert_tf.cli import paths, places
from bert_tf.cli.model_settings import ModelSettings, TokenizerSettings
from bert_tf.cli.settings import LARGEST_SEED, Settings, setting
from bert_tf.errors import InputError
from bert_tf.serving.settings import KIND_NAMES, ServedSettings
from bert_tf.tasks import Encoder
from run.finetuning.settings import FineTunedSettings, TuningSettings
from run.settings import DeviceSettings

FORMATS = ("html", "npz", "json")
TREEBANK_SUFFIX = ".conllu"
WRITTEN_BY_PROBES = r"probes\.(txt|tsv|json|png)"


@dataclasses.dataclass(frozen=True)
class LookedAtSettings(Settings):
    """The texts to show in a report."""

    text: tuple[str, ...] = setting(
        (), "A text; may be given several times. Of a span labeler the question.", repeated=True)
    text_b: tuple[str, ...] = setting(
        (), "The second text of a pair, one for each --text; of a span labeler the context; of multiple choice a "
            "choice for the one --text, given several times.", repeated=True, needs="text")
    input_file: str | None = setting(
        None, "Text file with a text, or `text_a ||| text_b`, on each line, in place of --text.",
        place=places.INPUT_FILE)
    wrong_examples: int = setting(
        0, "In place of --text: show so many rows of the development data that the fine-tuned model gets wrong.",
        lower=0)
    max_texts: int = setting(10, "Most texts of --input_file to show.", lower=1)


@dataclasses.dataclass(frozen=True)
class EvaluationDataSettings(Settings):
    """Development data of the task that a model was fine-tuned for."""

    task_name: str | None = setting(
        None, "Of a classifier: as run_classifier's; unset means what the run.json beside the model says.",
        needs="wrong_examples")
    data_dir: str | None = setting(None, "Of a classifier: folder of the task's files, as run_classifier's.",
                                  needs="wrong_examples", place=places.INPUT_FOLDER)
    dev_file: str | None = setting(None, "Of a tagger or of multiple choice: file of the rows.",
                                  needs="wrong_examples", place=places.INPUT_PATH)
    predict_file: str | None = setting(None, "Of a span labeler: SQuAD JSON of the rows.", needs="wrong_examples",
                                      place=places.INPUT_FILE)


@dataclasses.dataclass(frozen=True)
class AttentionReportSettings(ServedSettings):
    """A model, texts, and the output file for its attention."""

    task_without_card: ClassVar = Encoder.name

    model: ModelSettings = dataclasses.field(default_factory=ModelSettings)
    tokenizer: TokenizerSettings = dataclasses.field(default_factory=TokenizerSettings)
    looked_at: LookedAtSettings = dataclasses.field(default_factory=LookedAtSettings)
    data: EvaluationDataSettings = dataclasses.field(default_factory=EvaluationDataSettings)
    task: str | None = setting(
        None, "What the model does; unset means what task.json beside it says, else masked_lm if it has the weights "
              "of one, else encoder.", choices=KIND_NAMES)
    top_k: int = setting(10, "Candidates for each place of a masked LM, or answers to a question.", lower=1)
    format: str = setting(
        "html", "html: one page that needs no network; npz, json: the numbers.", choices=FORMATS)
    output_file: str | None = setting(None, "File to write. Needed.", required=True, place=places.OUTPUT_FILE)

    def check_files(self):
        """See Settings."""
        looked_at = self.looked_at
        sources = {"text": looked_at.text, "input_file": looked_at.input_file,
                   "wrong_examples": looked_at.wrong_examples}
        given = [name for name, value in sources.items() if value]
        if len(given) != 1:
            raise InputError("one of `text`, `input_file` and `wrong_examples` is required, and no other"
                             + (f": `{'`, `'.join(given)}` are given" if given else ""))


@dataclasses.dataclass(frozen=True)
class CorpusSettings(Settings):
    """Inputs and outputs of an analysis."""

    input_file: str | None = setting(
        None, "Text file with a text, or `text_a ||| text_b`, on each line: what heads attend to in it. Unset, the "
              "sentences of --treebank are read for that.", required="without treebank", place=places.INPUT_FILE)
    treebank: str | None = setting(
        None, "CoNLL-U file: the best head for each of its dependency relations.", place=places.INPUT_FILE)
    output_dir: str | None = setting(None, "Folder for tables and pictures. Needed.", required=True,
                                     place=places.OUTPUT_FOLDER)
    max_texts: int | None = setting(
        None, "Read so many texts of --input_file and sentences of --treebank at most; unset means all.", lower=1)
    batch_size: int = setting(32, "Texts that go through the model together, fewer where they are long.", lower=1)
    distance_texts: int = setting(
        200, "Texts, the first ones, over which each two heads are compared, which takes time; 0 for none.", lower=0)


@dataclasses.dataclass(frozen=True)
class ImportanceSettings(Settings):
    """Importance of heads for a fine-tuned model's loss, and its score without them."""

    importance_examples: int = setting(
        0, "Training examples over which the importance of heads is measured, for a fine-tuned model and its data; 0 "
           "for not at all.", lower=0)
    curve_points: int = setting(
        10, "Steps in which all heads are taken out, the least important first; each is judged on the development "
            "data.", lower=1)
    random_orders: int = setting(3, "Random orders that the curve is compared with.", lower=0)
    random_seed: int = setting(1, "Seed of the random orders, and of the order of training examples.",
                               most=LARGEST_SEED)
    train_batch_size: int = setting(32, "Examples that go through the model together to measure importance.", lower=1)


@dataclasses.dataclass(frozen=True)
class AnalyzeAttentionSettings(FineTunedSettings, ServedSettings):
    """A model, and the inputs and outputs of its analysis."""

    task_without_card: ClassVar = Encoder.name
    needs_of_groups: ClassVar = {"data": "importance_examples"}

    corpus: CorpusSettings = dataclasses.field(default_factory=CorpusSettings)
    importance: ImportanceSettings = dataclasses.field(default_factory=ImportanceSettings)

    @property
    def needs_task(self):
        """True if the model must be fine-tuned."""
        return bool(self.importance.importance_examples)

    def choose_tuning(self):
        """See FineTunedSettings."""
        return TuningSettings(do_train=True, do_eval=True)


@dataclasses.dataclass(frozen=True)
class ProbeLayersSettings(Settings):
    """A model, labeled words, and the labels to probe for."""

    always_required: ClassVar = ("init_checkpoint",)

    model: ModelSettings = dataclasses.field(default_factory=ModelSettings)
    tokenizer: TokenizerSettings = dataclasses.field(default_factory=TokenizerSettings)
    devices: DeviceSettings = dataclasses.field(default_factory=DeviceSettings)
    train_file: str | None = setting(
        None, "Words to learn from: a treebank in CoNLL-U (.conllu), or a file of a word a line, columns divided by "
              "tabs or spaces, sentences by empty lines. Needed.", required=True, place=places.INPUT_FILE)
    dev_file: str | None = setting(None, "Words to judge by, in the same form. Needed.", required=True,
                                   place=places.INPUT_FILE)
    output_dir: str | None = setting(None, "Folder for probes.txt, .tsv, .json and .png; made if missing. Needed.",
                                     required=True, place=places.SHARED_FOLDER)
    label: str = setting(
        "tags", "What is read off: tags, the label of each word (of a treebank its universal part of speech); "
                "relations, of a treebank, the relation of each word to its head, off both of their vectors; spans, of "
                "labels as B-PER, the kind of each entity, off the vectors of its first and its last word.",
        choices=("tags", "relations", "spans"))
    token_column: int = setting(0, "Without a treebank: column of the word, from 0; negative from the last, -1.")
    label_column: int = setting(-1, "Without a treebank: column of the label.")
    max_train_words: int = setting(
        50_000, "Words of --train_file that are read, and of --dev_file: so many vectors of each layer are in memory.",
        lower=1, upper=10_000_000)
    batch_size: int = setting(32, "Sentences that go through the model together.", lower=1)
    num_probe_epochs: int = setting(20, "Times that the probes go through the words.", lower=1)
    probe_learning_rate: float = setting(2e-3, "Adam's first rate for the probes; it falls linearly to 0.", lower=0)
    random_seed: int = setting(12345, "Of the labels of the control task, and of the words' order.", most=LARGEST_SEED)

    def check_files(self):
        """See Settings. Also raises InputError if files are incompatible, or if an output would overwrite them."""
        if self.label == "relations" and not self.reads_treebanks:
            raise InputError(f"is of treebanks, and `train_file`={self.train_file} does not end in {TREEBANK_SUFFIX}",
                             "label", self.label)
        if self.label == "spans" and self.reads_treebanks:
            raise InputError(f"is of files with a label for each word, and `train_file`={self.train_file} is a "
                             "treebank", "label", self.label)
        if self.reads_treebanks != self.dev_file.endswith(TREEBANK_SUFFIX):
            raise InputError(f"is not of the form of `train_file`={self.train_file}; either both end in "
                             f"{TREEBANK_SUFFIX}, or none", "dev_file", self.dev_file)
        paths.check_not_replaced("output_dir", self.output_dir, WRITTEN_BY_PROBES, {
            name: self.values()[name] for name in ("train_file", "dev_file", "vocab_file", "bert_config_file")})

    @property
    def reads_treebanks(self):
        """True if the files are in CoNLL-U format."""
        return self.train_file.endswith(TREEBANK_SUFFIX)
