"""Settings for jobs that measure compressed models. Scripts define their flags from them: no TensorFlow here."""

import dataclasses

from bert_tf.cli import places
from bert_tf.cli.settings import setting
from run.finetuning.settings import FineTunedSettings


@dataclasses.dataclass(frozen=True)
class QuantizationSettings(FineTunedSettings):
    """A fine-tuned model, its development data, and where the table goes."""

    eval_batch_size: int = setting(32, "Examples in an evaluation step.", lower=1)
    output_file: str | None = setting(None, "TSV file for the table that is printed.", place=places.OUTPUT_FILE)
