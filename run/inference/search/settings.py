"""What a search for the nearest lines is told. Free of TensorFlow."""

import dataclasses

from bert_tf.cli import paths
from bert_tf.cli.settings import Settings, setting
from bert_tf.errors import InputError
from run.settings import DeviceSettings, ModelSettings, TokenizerSettings


@dataclasses.dataclass(frozen=True)
class NearestSettings(Settings):
    """Lines, queries, and which vectors they are compared by."""

    model: ModelSettings = dataclasses.field(default_factory=ModelSettings)
    tokenizer: TokenizerSettings = dataclasses.field(default_factory=TokenizerSettings)
    devices: DeviceSettings = dataclasses.field(default_factory=DeviceSettings)
    input_file: str | None = setting(
        None, "Text file with a text, or `text_a ||| text_b`, on each line: those to search in. Needed.")
    query: tuple[str, ...] = setting(
        (), "A text, or `text_a ||| text_b`; may be given several times; unset means each line of standard input.",
        repeated=True)
    vectors: str | None = setting(
        None, "An .npz that extract_features wrote of --input_file with --pooling: its vectors are taken, and only the "
              "queries go through the model. Give the same model, --pooling and --max_seq_length; --whiten is for "
              "here, not there.")
    layer: int = setting(
        -1, "Layer of the vectors: 0 is the first, -1 the last; of --vectors as it was asked for there.")
    pooling: str = setting(
        "mean", "mean: the mean over the tokens of a line, [CLS] and [SEP] included; cls: the vector of [CLS].",
        choices=("mean", "cls"))
    whiten: bool = setting(
        False, "Whiten vectors by those of the lines before they are compared; useful with many more lines than a "
               "vector has numbers.")
    top_k: int = setting(5, "Lines to show for each query.", lower=1)
    batch_size: int = setting(32, "Lines that go through the model together.", lower=1)

    def read_config(self):
        """The BertConfig, once all that needs no TensorFlow is checked; InputError for what is wrong or missing."""
        paths.check_file("input_file", self.input_file)
        if self.vectors:
            paths.check_file("vectors", self.vectors)
        if not self.model.init_checkpoint:
            raise InputError("`init_checkpoint` is required")
        if self.devices.strategy_name == "multi_worker_mirrored":
            raise InputError("`distribution_strategy`=multi_worker_mirrored: a search runs on one machine")
        config = self.model.read_config(self.tokenizer.max_seq_length)
        if not -config.num_hidden_layers <= self.layer < config.num_hidden_layers:
            raise InputError(f"`layer`={self.layer}: the model has the layers 0 to {config.num_hidden_layers - 1}, "
                             f"from the last -1 to {-config.num_hidden_layers}")
        paths.check_file("vocab_file", self.tokenizer.vocab_file)
        return config
