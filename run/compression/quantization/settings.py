"""What a measurement of quantisation is told. Free of TensorFlow: the script defines its flags of it."""

import dataclasses

from bert_tf.cli import paths
from bert_tf.cli.settings import Settings, setting
from bert_tf.errors import InputError
from run.compression.data_settings import DataSettings
from run.settings import ModelSettings, TokenizerSettings


@dataclasses.dataclass(frozen=True)
class QuantizationSettings(Settings):
    """A fine-tuned model, its development data, and where the table goes."""

    model: ModelSettings = dataclasses.field(default_factory=ModelSettings)
    tokenizer: TokenizerSettings = dataclasses.field(default_factory=TokenizerSettings)
    data: DataSettings = dataclasses.field(default_factory=DataSettings)
    eval_batch_size: int = setting(32, "Examples in an evaluation step.", lower=1)
    output_file: str | None = setting(None, "TSV file for the table that is printed.")

    def check_places(self):
        """Raises InputError where the model is not given, or the file cannot be written."""
        if not self.model.init_checkpoint:
            raise InputError("`init_checkpoint` is required")
        if self.output_file:
            paths.check_output_file("output_file", self.output_file)
            paths.check_not_given("output_file", self.output_file, {
                "init_checkpoint": self.model.init_checkpoint, "bert_config_file": self.model.bert_config_file,
                "vocab_file": self.tokenizer.vocab_file, "dev_file": self.data.dev_file,
                "predict_file": self.data.predict_file, "train_file": self.data.train_file,
                "data_dir": self.data.data_dir})
