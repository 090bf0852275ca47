"""What a search for the nearest lines is told. Free of TensorFlow."""

import dataclasses
from typing import ClassVar

from bert_tf.cli import places
from bert_tf.cli.settings import Settings, setting
from bert_tf.errors import InputError
from run.settings import DeviceSettings, ModelSettings, TokenizerSettings


@dataclasses.dataclass(frozen=True)
class NearestSettings(Settings):
    """Lines, queries, and which vectors they are compared by."""

    always_required: ClassVar = ("init_checkpoint",)

    model: ModelSettings = dataclasses.field(default_factory=ModelSettings)
    tokenizer: TokenizerSettings = dataclasses.field(default_factory=TokenizerSettings)
    devices: DeviceSettings = dataclasses.field(default_factory=DeviceSettings)
    input_file: str | None = setting(
        None, "Text file with a text, or `text_a ||| text_b`, on each line: those to search in. Needed.",
        required=True, place=places.INPUT_FILE)
    query: tuple[str, ...] = setting(
        (), "A text, or `text_a ||| text_b`; may be given several times; unset means each line of standard input.",
        repeated=True)
    vectors: str | None = setting(
        None, "An .npz that extract_features wrote of --input_file with --pooling: its vectors are taken, and only the "
              "queries go through the model. Give the same model, --pooling and --max_seq_length.",
        place=places.INPUT_FILE)
    layer: int = setting(
        -1, "Layer of the vectors: 0 is the first, -1 the last; of --vectors as it was asked for there.")
    pooling: str = setting(
        "mean", "mean: the mean over the tokens of a line, [CLS] and [SEP] included; cls: the vector of [CLS].",
        choices=("mean", "cls"))
    top_k: int = setting(5, "Lines to show for each query.", lower=1)
    batch_size: int = setting(32, "Lines that go through the model together.", lower=1)

    def check(self):
        """See Settings."""
        if self.devices.strategy_name == "multi_worker_mirrored":
            raise InputError("`distribution_strategy`=multi_worker_mirrored: a search runs on one machine")

    def check_files(self):
        """See Settings."""
        config = self.model.config
        if not -config.num_hidden_layers <= self.layer < config.num_hidden_layers:
            raise InputError(f"`layer`={self.layer}: the model has the layers 0 to {config.num_hidden_layers - 1}, "
                             f"from the last -1 to {-config.num_hidden_layers}")
