"""Settings for inference. Scripts define their flags from this module, so it does not import TensorFlow.

The task.json in the directory of a fine-tuning run takes precedence over the defaults.
"""

import dataclasses
import functools
from typing import ClassVar

from bert_tf import files
from bert_tf.cli import paths, resolution, roles
from bert_tf.cli.model_settings import ModelSettings, TokenizerSettings
from bert_tf.cli.settings import Settings, setting
from bert_tf.errors import InputError
from bert_tf.files import read_bytes
from bert_tf.litert import buckets
from bert_tf.serving import exports
from bert_tf.tasks import KINDS, MaskedLM, SpanLabeler
from bert_tf.tasks.masked_lm import MASK
from run.serving.formats import request_files
from run.settings import OriginalDeviceSettings
from run.settings.served_models import (
    KIND_NAMES,
    AnyModelSettings,
    CheckpointSettings,
    LabelSettings,
    QuestionSettings,
)

LITERT_WEIGHTS = ("float32", "float16", "int8")
WEIGHTS = {"saved_model": ("float32", "bfloat16", "int8"),
           **dict.fromkeys(("litert", "tflite"), LITERT_WEIGHTS)}
COMPUTE_TYPES = ("float32", "bfloat16")


@dataclasses.dataclass(frozen=True)
class FillMaskSettings(AnyModelSettings):
    """Texts with masks to fill."""

    task = MaskedLM.name

    model: str | None = setting(
        None, "Model to use, in any format: a .tflite file or a directory from export_saved_model, or a checkpoint. "
              "Replaces --init_checkpoint.", role=roles.INPUT)
    source: ModelSettings = dataclasses.field(default_factory=ModelSettings)
    tokenizer: TokenizerSettings = dataclasses.field(default_factory=TokenizerSettings)
    text: tuple[str, ...] = setting(
        (), "Text with one or more [MASK], or a pair `text_a ||| text_b`; can be repeated. Defaults to the lines of "
            "standard input.", repeated=True)
    top_k: int = setting(5, "Number of candidates to print per [MASK].", lower=1)

    def check(self):
        """See Settings."""
        for text in self.text:
            if MASK not in text:
                raise InputError(f"must contain {MASK}", "text", text)

    @property
    def texts(self):
        """Texts from the flags: list of str, which can be pairs like the lines of standard input."""
        return list(map(drop_invalid_bytes, self.text))

    def accept_pairs(self):
        """Returns the resolved settings with a checkpoint of pairs if requests can be pairs.

        These are texts with ` ||| `, and lines of standard input. A pair without a second text is a single text.
        """
        can_be_pairs = not self.text or any(request_files.SEPARATOR in text for text in self.text)
        if self.served_task is None or not can_be_pairs:
            return self
        return self.replace_values({"served_task": dataclasses.replace(self.served_task, pairs=True)})


@dataclasses.dataclass(frozen=True)
class AnswerSettings(AnyModelSettings):
    """Questions about a text."""

    task = SpanLabeler.name

    model: str | None = setting(
        None, "Model to use, in any format: a .tflite file or a directory from export_saved_model, or a checkpoint. "
              "Replaces --init_checkpoint.", role=roles.INPUT)
    source: ModelSettings = dataclasses.field(default_factory=ModelSettings)
    tokenizer: TokenizerSettings = dataclasses.field(default_factory=TokenizerSettings)
    span: QuestionSettings = dataclasses.field(default_factory=QuestionSettings)
    question: tuple[str, ...] = setting((), "Question; can be repeated.", repeated=True)
    context: str | None = setting(None, "Text that contains the answers.")
    context_file: str | None = setting(
        None, "UTF-8 file with the text that contains the answers, instead of --context.", role=roles.INPUT_FILE)
    top_k: int = setting(5, "Number of answers to print per question.", lower=1)

    @property
    def questions(self):
        """Questions from the flag, list of str."""
        return list(map(drop_invalid_bytes, self.question))

    def check_files(self):
        """See Settings."""
        if (self.context is None) == (self.context_file is None):
            raise InputError("either `context` or `context_file` is required")

    def read_context(self):
        """Reads the text of `context` or `context_file`."""
        if self.context is not None:
            return drop_invalid_bytes(self.context)
        content = read_bytes(self.context_file)
        files.check_text(content[:2], self.context_file)
        return content.decode("utf-8-sig", "ignore")


@dataclasses.dataclass(frozen=True)
class ExportSettings(CheckpointSettings):
    """A model to export for raw text."""

    export_dir: str | None = setting(
        None, "Directory of the exported model. A SavedModel is written to export_dir/VERSION, a LiteRT model to "
              "export_dir/model_WEIGHTS.tflite. Required.", required=True, role=roles.SHARED_FOLDER)
    version: int | None = setting(
        None, "Version number. Defaults to one more than the highest version in --export_dir.", lower=1)
    format: str = setting(
        "saved_model", "saved_model: for TensorFlow Serving. litert: one file that loads fast, does not require "
                       "TensorFlow, and is the fastest format on CPUs with int8 weights. tflite: same as litert.",
        choices=tuple(WEIGHTS))
    weights: str = setting(
        "float32", "Type of the stored weights. saved_model: float32, bfloat16, or int8, all converted to the type of "
                   "--compute when loaded. litert: float32, float16, or int8 (dynamic range quantization, computed in "
                   "integers).", choices=("float32", "float16", "bfloat16", "int8"))
    with_litert: str | None = setting(
        None, "For SavedModels: type of the weights of an additional LiteRT model, model.tflite in the same "
              "directory. TensorFlow Serving uses it with the flag prefer_tflite_model.", choices=LITERT_WEIGHTS)
    lengths: tuple[int, ...] = setting(
        buckets.LENGTHS, "Sequence lengths of LiteRT's graphs in tokens. A single text uses the shortest graph "
                            "that fits it. Values above --max_seq_length become --max_seq_length.", lower=1)
    batch_sizes: tuple[int, ...] = setting(buckets.BATCH_SIZES, "Batch sizes of LiteRT's graphs.", lower=1)
    compute: str = setting(
        "float32", "Type of the matrix multiplications of a SavedModel; normalization, softmax, and scores are "
                   "float32. bfloat16 is faster on CPUs with instructions for it (avx512_bf16, amx_bf16) and on newer "
                   "GPUs.", choices=COMPUTE_TYPES)

    def check(self):
        """See Settings."""
        if self.weights not in WEIGHTS[self.format]:
            raise InputError(f"`weights`={self.weights}: must be one of {', '.join(WEIGHTS[self.format])} with "
                             f"`format`={self.format}")
        if self.with_litert and self.format != "saved_model":
            raise InputError(f"`with_litert`={self.with_litert}: requires `format`=saved_model")
        for name in ("lengths", "batch_sizes"):
            value = getattr(self, name)
            if not value:
                raise InputError(f"`{name}`: must contain at least one value")
            if value != getattr(ExportSettings, name) and self.format == "saved_model" and not self.with_litert:
                raise InputError(f"`{name}`={','.join(map(str, value))}: only applies to LiteRT; set `with_litert` "
                                 "or `format`=litert")
        if self.static_length and self.format != "saved_model":
            raise InputError(f"has no effect with `format`={self.format}, whose lengths are always fixed; omit it",
                             "static_length", True)
        if self.version is not None and self.format != "saved_model":
            raise InputError(f"`version`={self.version}: requires `format`=saved_model")
        if self.compute != "float32" and self.format != "saved_model":
            raise InputError(f"`compute`={self.compute}: requires `format`=saved_model")

    def check_files(self):
        """See Settings."""
        self.check_kind()


@dataclasses.dataclass(frozen=True)
class PredictionSettings(AnyModelSettings):
    """A model in any format, the options for its predictions, and a file of texts to predict."""

    checkpoint_only: ClassVar = AnyModelSettings.checkpoint_only | {"top_k"}

    model: str | None = setting(
        None, "Model to use: a .tflite file or a directory from export_saved_model, the directory of a fine-tuning "
              "run, or another checkpoint, as for --init_checkpoint of the other scripts. Required.",
        role=roles.INPUT)
    task: str | None = setting(None, "Task of a checkpoint. Defaults to the task in its task.json.", choices=KIND_NAMES)
    bert_config_file: str | None = setting(
        None, "Config of a checkpoint. Required unless its directory contains a config.", role=roles.INPUT,
        source=resolution.CONFIG)
    label: LabelSettings = dataclasses.field(default_factory=LabelSettings)
    tokenizer: TokenizerSettings = dataclasses.field(default_factory=TokenizerSettings)
    span: QuestionSettings = dataclasses.field(default_factory=QuestionSettings)
    top_k: int = setting(5, "For checkpoints: number of candidates per [MASK], or of answers per question.", lower=1)

    input_file: str | None = setting(None, "Input file; - for standard input. Required.",
                                     required=True, role=roles.INPUT_STREAM)
    input_format: str | None = setting(
        None, "lines: one text per line, or two separated by ` ||| `. tsv: a table with a header, separated by commas "
              "with quotes for .csv files, otherwise by tabs. jsonl: one JSON object per line. Defaults to the format "
              "of the file extension.", choices=request_files.FORMATS)
    columns: tuple[str, ...] = setting(
        (), "Columns of the table, or keys of the objects, for the inputs of the model in order: text; text_a, "
            "text_b; question, context; or text_a and one column per choice. Defaults to the names of the inputs.")
    output_file: str | None = setting(
        None, "Output file: a table if it ends in .tsv, otherwise JSON lines; - for standard output. Required.",
        required=True, role=roles.OUTPUT_STREAM)
    batch_size: int = setting(32, "Batch size.", lower=1)

    @functools.cached_property
    def labels(self):
        """See `ServingSettings`."""
        return self.label.read_labels()

    def check_files(self):
        """See Settings."""
        self.check_kind()
        argument, path = self.exported_model or (None, "")
        metadata = self.served_task
        if argument and not path.endswith(exports.LITERT_SUFFIX):  # Those load fast.
            metadata = exports.read_metadata(path, argument)
        inputs = tuple(KINDS[metadata.kind].inputs(metadata.pairs)) if metadata else None
        request_files.check(self.input_file, inputs, self.columns, self.input_format)

    @property
    def writes_table(self):
        """True if predictions are written as a table."""
        return bool(self.output_file) and self.output_file.lower().endswith(".tsv")


@dataclasses.dataclass(frozen=True)
class ExtractionSettings(Settings):
    """Texts to extract embeddings from."""

    always_required: ClassVar = ("init_checkpoint",)

    model: ModelSettings = dataclasses.field(default_factory=ModelSettings)
    tokenizer: TokenizerSettings = dataclasses.field(default_factory=TokenizerSettings)
    devices: OriginalDeviceSettings = dataclasses.field(default_factory=OriginalDeviceSettings)
    input_file: str | None = setting(
        None, "Text file with a text, or `text_a ||| text_b`, on each line; - for standard input. Required.",
        required=True, role=roles.INPUT_STREAM)
    output_file: str | None = setting(None, "Output file. Required.", required=True, role=roles.OUTPUT_FILE)
    output_format: str = setting(
        "jsonl", "jsonl: JSON lines as in the original BERT. npz: NumPy arrays vectors [tokens, layers, hidden_size], "
                 "tokens, row_splits, and layers. tfrecord: one tf.train.Example per line with linex_index, tokens, "
                 "and vectors.", choices=("jsonl", "npz", "tfrecord"))
    layers: str = setting("-1,-2,-3,-4", "Layers to write, comma-separated: 0 is the first, -1 the last.")
    pooling: str = setting(
        "none", "none: an embedding per token. cls: the embedding of [CLS]. mean: the mean over the tokens of a line, "
                "including [CLS] and [SEP], under the token [MEAN].", choices=("none", "cls", "mean"))
    batch_size: int = setting(32, "Batch size in lines.", lower=1)
    compute: str = setting(
        "float32", "Type of the matrix multiplications. bfloat16, with 8 bits of precision, is faster on CPUs with "
                   "instructions for it and on newer GPUs.", choices=COMPUTE_TYPES)
    use_one_hot_embeddings: bool = setting(
        False, "Look up word embeddings with a one-hot matrix multiplication, for TPUs; the results are the same.")

    def check(self):
        """See Settings."""
        if self.devices.strategy_name == "multi_worker_mirrored":
            raise InputError("`distribution_strategy`=multi_worker_mirrored: each worker would write the complete "
                             "file; split the input, and run one process per part")

    def check_files(self):
        """See Settings."""
        self.parse_layers(self.model.config.num_hidden_layers)

    def parse_layers(self, num_layers):
        """Returns `layers` as a list of int; raises InputError if a model of `num_layers` does not have one."""
        try:
            layers = [int(layer) for layer in self.layers.split(",")]
        except ValueError:
            raise InputError(
                f"`layers`={self.layers}: must be comma-separated integers, such as -1,-2") from None
        for layer in layers:
            if not -num_layers <= layer < num_layers:
                raise InputError(f"`layers`={self.layers}: layer {layer} does not exist; must be from "
                                 f"{-num_layers} to {num_layers - 1}")
        return layers


def drop_invalid_bytes(text):
    """Drops invalid UTF-8 bytes, which Python represents as surrogates, from an argument, as the tokenizer does."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "ignore")


@dataclasses.dataclass(frozen=True)
class ConversionSettings(Settings):
    """Input and output of a conversion."""

    input: str | None = setting(
        None, "Checkpoint: a prefix (bert_model.ckpt, ckpt-1000), a .safetensors file, or a directory that contains "
              "one of these. Required.", required=True)
    output: str | None = setting(None, "Directory for the converted files; created if it does not exist. Required.",
                                 required=True, role=roles.OUTPUT_FOLDER)
    format: str | None = setting(None, "Format to write. Required.",
                                 required=True, choices=("tf1", "model_garden", "huggingface"))
    adapter: str | None = setting(
        None, "adapter.safetensors of a fine-tuning run with --lora_rank. Merges its adapters into --input, the "
              "checkpoint that the run started from, and adds its head.", role=roles.INPUT_FILE)
    bert_config_file: str | None = setting(
        None, "The model's bert_config.json, Hugging Face's config.json, or the Model Garden's params.yaml. Required "
              "unless the directory of --input contains a config.", role=roles.INPUT_FILE)
    vocab_file: str | None = setting(
        None, "The model's vocab.txt or tokenizer.json, to write next to the weights. Defaults to the vocabulary in "
              "the directory of --input, if any.", role=roles.INPUT_FILE)
    max_position_embeddings: int | None = setting(
        None, "Extend the model to this number of positions, for further pre-training or fine-tuning on longer texts. "
              "By default, the number does not change.", lower=1)
    position_extension: str = setting(
        "repeat", "With --max_position_embeddings: repeat the rows of the position embeddings from the first one, or "
                  "interpolate between them.", choices=("repeat", "interpolate"), needs="max_position_embeddings")
    overwrite: bool = setting(False, "Overwrite files in --output. By default, --output must be empty or new.")

    def check_files(self):
        """See Settings."""
        paths.check_separate("output", self.output, {"input": self.input})
        if not files.is_empty(self.output) and not self.overwrite:
            raise InputError("is not empty; choose another directory, or set `overwrite`", "output", self.output)
        paths.check_files_not_overwritten("output", self.output, r".*", {
            name: getattr(self, name) for name in ("bert_config_file", "vocab_file", "adapter")})
