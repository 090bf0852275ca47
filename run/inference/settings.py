"""Settings for inference.

Scripts define their flags from this module, so it does not import TensorFlow.

The task.json in the directory of a fine-tuning run takes precedence over the defaults.
"""

import dataclasses
from typing import ClassVar

from bert_tf import files
from bert_tf.cli import roles
from bert_tf.cli.model_jobs import ModelJobSettings
from bert_tf.cli.model_settings import ConfigSettings, ModelSettings, TokenizerSettings
from bert_tf.cli.rules import Needs, NotWith, Required, any_of, equals
from bert_tf.cli.settings import Settings, setting
from bert_tf.errors import InputError
from bert_tf.files import read_bytes
from bert_tf.serving import buckets, mediapipe
from bert_tf.tasks import MaskedLM, SpanLabeler
from bert_tf.tasks.masked_lm.task import MASK
from data_prep.tasks.span_labeler import QuestionSettings
from run.inference import request_files
from run.inference.request_settings import CalibrationSettings, RequestSettings
from run.inference.served_models import (
    KIND_NAMES,
    AnyModelSettings,
    CheckpointSettings,
    LabelSettings,
)
from run.training.settings import OriginalDeviceSettings

WEIGHTS = {
    "saved_model": ("float32", "bfloat16", "int8"),
    "litert": ("float32", "float16", "int8"),
    "onnx": ("float32",),
    "openvino": ("float32", "float16", "int8"),
}
LITERT = any_of("with_litert", equals("format", "litert"))  # Condition: a LiteRT model is written.
ONE_GRAPH = "MediaPipe's file has one graph, for one text of `max_seq_length` tokens"
OTHER_OUTPUTS = (".parquet", ".xlsx", ".gz")  # Ends of the names of files that are not written.
COMPUTE_TYPES = ("float32", "bfloat16")


@dataclasses.dataclass(frozen=True)
class ComputeTypeSettings(Settings):
    """Type of the matrix multiplications."""

    mixed_precision: str = setting(
        "float32",
        "Type of the matrix multiplications; normalization, softmax, and scores are float32, "
        "except in OpenVINO. bfloat16, with 8 bits of precision, is faster on CPUs with "
        "instructions for it (avx512_bf16, amx_bf16) and on newer GPUs.",
        choices=COMPUTE_TYPES,
    )


@dataclasses.dataclass(frozen=True)
class TerminalSettings(AnyModelSettings):
    """A model in any format, for requests from the terminal."""

    model: str | None = setting(
        None,
        "Model to use, in any format: a .tflite file or a directory from export_saved_model, or a "
        "checkpoint. Replaces --init_checkpoint.",
        role=roles.INPUT,
    )
    source: ModelSettings = dataclasses.field(default_factory=ModelSettings)
    tokenizer: TokenizerSettings = dataclasses.field(default_factory=TokenizerSettings)


@dataclasses.dataclass(frozen=True)
class FillMaskSettings(TerminalSettings):
    """Texts with masks to fill."""

    task = MaskedLM.name

    text: tuple[str, ...] = setting(
        (),
        "Text with one or more [MASK], or a pair `text_a ||| text_b`; can be repeated. Defaults "
        "to the lines of standard input.",
        repeated=True,
    )

    def check(self):
        """See Settings."""
        for text in self.text:
            if MASK not in text:
                raise InputError(f"must contain {MASK}", "text", text)

    def accept_pairs(self):
        """Returns the resolved settings with a checkpoint of pairs.

        A pair without a second text is a single text.
        """
        if self.served_task is None:
            return self
        return self.replace_values(
            {"served_task": dataclasses.replace(self.served_task, pairs=True)}
        )


@dataclasses.dataclass(frozen=True)
class AnswerSettings(TerminalSettings):
    """Questions about a text."""

    task = SpanLabeler.name

    span: QuestionSettings = dataclasses.field(default_factory=QuestionSettings)
    question: tuple[str, ...] = setting((), "Question; can be repeated.", repeated=True)
    context: str | None = setting(
        None, "Text that contains the answers.", rules=[Required(unless="context_file")]
    )
    context_file: str | None = setting(
        None,
        "UTF-8 file with the text that contains the answers, instead of --context.",
        rules=[NotWith("context")],
        role=roles.INPUT_FILE,
    )

    def read_context(self):
        """Reads the text of `context` or `context_file`."""
        if self.context is not None:
            return request_files.drop_invalid_bytes(self.context)
        content = read_bytes(self.context_file)
        files.check_text(content[:2], self.context_file)
        return content.decode("utf-8-sig", "ignore")


@dataclasses.dataclass(frozen=True)
class ExportSettings(CheckpointSettings):
    """A model to export for raw text."""

    needs_of_groups: ClassVar = {
        "compute": any_of(equals("format", "saved_model"), equals("format", "openvino"))
    }

    export_dir: str | None = setting(
        None,
        "Directory of the exported model. A SavedModel is written to export_dir/VERSION, a LiteRT "
        "model to export_dir/model_WEIGHTS.tflite, others to export_dir/model.onnx or model.xml. "
        "Required.",
        rules=[Required()],
        role=roles.SHARED_FOLDER,
    )
    version: int | None = setting(
        None,
        "Version number. Defaults to one more than the highest version in --export_dir.",
        min_value=1,
        rules=[Needs(equals("format", "saved_model"))],
    )
    format: str = setting(
        "saved_model",
        "saved_model: for TensorFlow Serving. litert: one file that loads fast, does not require "
        "TensorFlow, and is fast on CPUs with int8 weights. onnx, openvino: a model "
        "for these runtimes, whose packages it requires (pip install 'bert-tf[onnx]' or "
        "'bert-tf[openvino]').",
        choices=tuple(WEIGHTS),
    )
    weights: str = setting(
        "float32",
        "Type of the stored weights. saved_model: float32, bfloat16, or int8, all converted to "
        "the type of --mixed_precision when loaded. litert: float32, float16, or int8 (dynamic "
        "range quantization, computed in integers). onnx: float32. openvino: float32, float16, or "
        "int8 (computed in integers on CPUs with instructions for it).",
        choices=("float32", "float16", "bfloat16", "int8"),
    )
    signatures: str = setting(
        "all",
        "For SavedModels. all: signatures for raw text, IDs, and tf.Examples, for TensorFlow "
        "Serving and bert_tf.load. ids: one signature from IDs to numbers, without string "
        "operations and checks of the IDs, for other runtimes and converters (float32 weights).",
        choices=("all", "ids"),
        rules=[Needs(equals("format", "saved_model"))],
    )
    with_litert: str | None = setting(
        None,
        "For SavedModels: type of the weights of an additional LiteRT model, model.tflite in the "
        "same directory. TensorFlow Serving uses it with the flag prefer_tflite_model.",
        choices=WEIGHTS["litert"],
        rules=[Needs(equals("format", "saved_model"))],
    )
    lengths: tuple[int, ...] = setting(
        buckets.LENGTHS,
        "Sequence lengths of LiteRT's graphs in tokens. A single text uses the shortest graph "
        "that fits it. Values above --max_seq_length become --max_seq_length.",
        min_value=1,
        rules=[Needs(LITERT), NotWith("metadata", ONE_GRAPH)],
    )
    batch_sizes: tuple[int, ...] = setting(
        buckets.BATCH_SIZES,
        "Batch sizes of LiteRT's graphs.",
        min_value=1,
        rules=[Needs(LITERT), NotWith("metadata", ONE_GRAPH)],
    )
    metadata: str | None = setting(
        None,
        "mediapipe: write a file that MediaPipe's TextClassifier or TextEmbedder can also open, "
        "with one graph, for one text of --max_seq_length tokens, and the metadata that they "
        "require. For classifiers and encoders of single texts.",
        choices=(mediapipe.MEDIAPIPE,),
        rules=[Needs(equals("format", "litert"))],
    )
    compute: ComputeTypeSettings = dataclasses.field(default_factory=ComputeTypeSettings)
    calibration: CalibrationSettings = dataclasses.field(default_factory=CalibrationSettings)

    def check(self):
        """See Settings."""
        if self.weights not in WEIGHTS[self.format]:
            raise InputError(
                f"must be one of {', '.join(WEIGHTS[self.format])} with `format`={self.format}",
                "weights",
                self.weights,
            )
        if self.signatures == "ids" and self.weights != "float32":
            raise InputError(
                "is for float32 weights, which other runtimes read; omit `weights`",
                "signatures",
                self.signatures,
            )
        for name in ("lengths", "batch_sizes"):
            if not getattr(self, name):
                raise InputError("must contain at least one value", name)

    def check_files(self):
        """See Settings."""
        self.check_kind()
        if self.metadata:
            mediapipe.check_task(self.served_task)


@dataclasses.dataclass(frozen=True)
class PredictionSettings(AnyModelSettings):
    """A model in any format, the options for its predictions, and a file of texts to predict."""

    checkpoint_only: ClassVar = AnyModelSettings.checkpoint_only | {"top_k"}

    model: str | None = setting(
        None,
        "Model to use: a .tflite file or a directory from export_saved_model, the directory of a "
        "fine-tuning run, or another checkpoint, as for --init_checkpoint of the other scripts. "
        "Required.",
        role=roles.INPUT,
    )
    task: str | None = setting(
        None, "Task of a checkpoint. Defaults to the task in its task.json.", choices=KIND_NAMES
    )
    encoder: ConfigSettings = dataclasses.field(default_factory=ConfigSettings)
    label: LabelSettings = dataclasses.field(default_factory=LabelSettings)
    tokenizer: TokenizerSettings = dataclasses.field(default_factory=TokenizerSettings)
    span: QuestionSettings = dataclasses.field(default_factory=QuestionSettings)
    requests: RequestSettings = dataclasses.field(default_factory=RequestSettings)
    id_column: tuple[str, ...] = setting(
        (), "Columns of the input file to copy to the predictions, comma-separated; * for all."
    )
    output_file: str | None = setting(
        None,
        "Output file: a table if it ends in .tsv or .csv, otherwise JSON lines; - for standard "
        "output. Required.",
        rules=[Required()],
        role=roles.OUTPUT_FILE,
    )

    @property
    def request_options(self):
        """The request_files.RequestOptions."""
        return dataclasses.replace(self.requests.options, id_columns=self.id_column)

    def check(self):
        """See Settings."""
        if self.output_file and self.output_file.lower().endswith(OTHER_OUTPUTS):
            raise InputError(
                "must end in .csv or .tsv for a table, or .jsonl for JSON lines",
                "output_file",
                self.output_file,
            )

    def check_files(self):
        """See Settings."""
        self.check_kind()


@dataclasses.dataclass(frozen=True)
class ExtractionSettings(ModelJobSettings):
    """Texts to extract embeddings from."""

    always_required: ClassVar = ("init_checkpoint",)

    model: ModelSettings = dataclasses.field(default_factory=ModelSettings)
    tokenizer: TokenizerSettings = dataclasses.field(default_factory=TokenizerSettings)
    devices: OriginalDeviceSettings = dataclasses.field(default_factory=OriginalDeviceSettings)
    requests: RequestSettings = dataclasses.field(default_factory=RequestSettings)
    compute: ComputeTypeSettings = dataclasses.field(default_factory=ComputeTypeSettings)
    output_file: str | None = setting(
        None, "Output file. Required.", rules=[Required()], role=roles.OUTPUT_FILE
    )
    format: str = setting(
        "jsonl",
        "jsonl: JSON lines as in the original BERT. npz: NumPy arrays vectors [tokens, layers, "
        "hidden_size], tokens, row_splits, and layers. tfrecord: one tf.train.Example per line "
        "with linex_index, tokens, and vectors.",
        choices=("jsonl", "npz", "tfrecord"),
    )
    layers: str = setting(
        "-1,-2,-3,-4", "Layers to write, comma-separated: 0 is the first, -1 the last."
    )
    pooling: str = setting(
        "none",
        "none: an embedding per token. cls: the embedding of [CLS]. mean: the mean over the "
        "tokens of a line, including [CLS] and [SEP], under the token [MEAN].",
        choices=("none", "cls", "mean"),
    )
    use_one_hot_embeddings: bool = setting(
        False,
        "Look up word embeddings with a one-hot matrix multiplication, for TPUs; the results are "
        "the same.",
    )

    def check_files(self):
        """See Settings."""
        self.parse_layers(self.model.config.num_hidden_layers)

    def parse_layers(self, num_layers):
        """Returns `layers` as a list of int.

        Raises InputError if a model of `num_layers` does not have one.
        """
        try:
            layers = [int(layer) for layer in self.layers.split(",")]
        except ValueError:
            raise InputError(
                "must be comma-separated integers, such as -1,-2", "layers", self.layers
            ) from None
        for layer in layers:
            if not -num_layers <= layer < num_layers:
                raise InputError(
                    f"layer {layer} does not exist; must be from {-num_layers} to {num_layers - 1}",
                    "layers",
                    self.layers,
                )
        return layers


@dataclasses.dataclass(frozen=True)
class ConversionSettings(Settings):
    """Input and output of a conversion."""

    input: str | None = setting(
        None,
        "Checkpoint: a prefix (bert_model.ckpt, ckpt-1000), a .safetensors file, or a directory "
        "that contains one of these. Required.",
        rules=[Required()],
    )
    output: str | None = setting(
        None,
        "Directory for the converted files; created if it does not exist. Required.",
        rules=[Required()],
        role=roles.OUTPUT_FOLDER,
    )
    format: str | None = setting(
        None,
        "Format to write. Required.",
        rules=[Required()],
        choices=("tf1", "model_garden", "huggingface"),
    )
    adapter: str | None = setting(
        None,
        "Directory of a PEFT adapter, or OUTPUT_DIR/adapter of a fine-tuning run with "
        "--lora_rank. The script merges it and its head into --input, the model from which its "
        "training started.",
        role=roles.INPUT_FOLDER,
    )
    bert_config_file: str | None = setting(
        None,
        "The model's bert_config.json, Hugging Face's config.json, or the Model Garden's "
        "params.yaml. Required unless the directory of --input contains a config.",
        role=roles.INPUT_FILE,
    )
    vocab_file: str | None = setting(
        None,
        "The model's vocab.txt or tokenizer.json, to write next to the weights. Defaults to the "
        "vocabulary in the directory of --input, if any.",
        role=roles.INPUT_FILE,
    )
    max_position_embeddings: int | None = setting(
        None,
        "Extend the model to this number of positions, for further pre-training or fine-tuning on "
        "longer texts, by repeating the position embeddings from the first one. By default, the "
        "number does not change.",
        min_value=1,
    )

    def check_files(self):
        """See Settings."""
        if not files.is_empty(self.output):
            raise InputError("is not empty; choose another directory", "output", self.output)
