"""Settings for jobs that analyze a model.

Scripts define their flags from them; does not import TensorFlow.
"""

import dataclasses
from typing import ClassVar

from bert_tf.cli import roles
from bert_tf.cli.model_jobs import ModelJobSettings
from bert_tf.cli.model_settings import ModelSettings, TokenizerSettings
from bert_tf.cli.rules import NotWith, Required, any_of
from bert_tf.cli.settings import setting
from bert_tf.errors import InputError
from bert_tf.tasks import Encoder
from run.finetuning.settings import EvaluationDataSettings, FineTunedSettings
from run.inference.request_settings import RequestFormatSettings
from run.inference.served_models import ServingSettings

FORMATS = ("html", "npz")


@dataclasses.dataclass(frozen=True)
class AttentionReportSettings(ServingSettings):
    """A model, texts, and the output file for its attention."""

    default_kind: ClassVar = Encoder.name
    needs_of_groups: ClassVar = {"data": "wrong_examples"}

    model: ModelSettings = dataclasses.field(default_factory=ModelSettings)
    tokenizer: TokenizerSettings = dataclasses.field(default_factory=TokenizerSettings)
    data: EvaluationDataSettings = dataclasses.field(default_factory=EvaluationDataSettings)
    text: tuple[str, ...] = setting(
        (),
        "Text, or several, separated by ` ||| `: the two texts of a pair, a question and its "
        "context, or a text and its choices; can be repeated.",
        repeated=True,
        rules=[NotWith("wrong_examples"), Required(unless=any_of("input_file", "wrong_examples"))],
    )
    input_file: str | None = setting(
        None,
        "File with a text, or several, on each line or in each row, instead of --text: a table, "
        "JSON lines, Parquet, or lines of texts, separated by ` ||| `.",
        rules=[NotWith("text"), NotWith("wrong_examples")],
        role=roles.INPUT_FILE,
    )
    requests: RequestFormatSettings = dataclasses.field(default_factory=RequestFormatSettings)
    wrong_examples: int = setting(
        0,
        "Number of misclassified development examples of a fine-tuned model to show, instead of "
        "--text.",
        min_value=0,
    )
    format: str = setting(
        "html", "html: one page that requires no network. npz: the numbers.", choices=FORMATS
    )
    output_file: str | None = setting(
        None, "Output file. Required.", rules=[Required()], role=roles.OUTPUT_FILE
    )

    def check(self):
        """See Settings."""
        ending = (self.output_file or "").rpartition(".")[2]
        if ending in FORMATS and ending != self.format:
            raise InputError(
                f"ends in .{ending}; set `format`={ending}", "output_file", self.output_file
            )


@dataclasses.dataclass(frozen=True)
class AnalyzeAttentionSettings(FineTunedSettings, ServingSettings):
    """A model, the inputs and outputs of its analysis, and the importance of its heads."""

    default_kind: ClassVar = Encoder.name
    needs_of_groups: ClassVar = {"data": "importance_examples"}
    written: ClassVar = r"(analysis|measures|heads|relations|importance|curve)\.(npz|png|tsv)"
    do_train = True

    input_file: str | None = setting(
        None,
        "File with a text, or a pair, on each line or in each row, for measuring attention: a "
        "table, JSON lines, Parquet, or lines with one text or `text_a ||| text_b`. Defaults to "
        "the sentences of --treebank.",
        rules=[Required(unless="treebank")],
        role=roles.INPUT_FILE,
    )
    requests: RequestFormatSettings = dataclasses.field(default_factory=RequestFormatSettings)
    treebank: str | None = setting(
        None,
        "CoNLL-U file, for finding the best head for each dependency relation. "
        "Layers and heads are 0-based: 2.8 is head 8 of layer 2.",
        role=roles.INPUT_FILE,
    )
    output_dir: str | None = setting(
        None,
        "Directory for tables and plots. Required.",
        rules=[Required()],
        role=roles.OUTPUT_FOLDER,
    )
    batch_size: int = setting(32, "Batch size; smaller for long texts.", min_value=1)
    importance_examples: int = setting(
        0,
        "For a fine-tuned model: number of training examples for measuring the importance of "
        "heads for its loss, and its scores without them. 0 for none.",
        min_value=0,
    )

    @property
    def needs_task(self):
        """True if the model must be fine-tuned."""
        return bool(self.importance_examples)


@dataclasses.dataclass(frozen=True)
class ProbeLayersSettings(ModelJobSettings):
    """A model, labeled words, and the labels to probe for."""

    always_required: ClassVar = ("init_checkpoint",)
    written: ClassVar = r"probes\.(txt|tsv|png)"

    model: ModelSettings = dataclasses.field(default_factory=ModelSettings)
    tokenizer: TokenizerSettings = dataclasses.field(default_factory=TokenizerSettings)
    train_file: str | None = setting(
        None,
        "Labeled words to train on: a treebank in CoNLL-U format (.conllu), or a file with one "
        "word per line, columns separated by tabs or spaces, and an empty line after each "
        "sentence. Required.",
        rules=[Required()],
        role=roles.INPUT_FILE,
    )
    dev_file: str | None = setting(
        None,
        "Labeled words to evaluate on, in the same format. Required.",
        rules=[Required()],
        role=roles.INPUT_FILE,
    )
    output_dir: str | None = setting(
        None,
        "Directory for probes.txt, .tsv, .json, and .png; created if it does not exist. Required.",
        rules=[Required()],
        role=roles.SHARED_FOLDER,
    )
    label: str = setting(
        "tags",
        "Label to predict. tags: the label of each word (for a treebank, its universal part of "
        "speech). relations: for a treebank, the relation of each word to its head, from the "
        "hidden states of both. spans: for labels such as B-PER, the type of each entity, from "
        "the hidden states of its first and last words.",
        choices=("tags", "relations", "spans"),
    )
    token_column: int = setting(
        0,
        "Without a treebank: 0-based column of the word; negative values count from the last "
        "column, -1.",
    )
    label_column: int = setting(-1, "Without a treebank: column of the label.")
    batch_size: int = setting(32, "Batch size in sentences.", min_value=1)
