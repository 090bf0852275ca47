"""Measures the effect of int8 on a fine-tuned model: its score with each matrix rounded separately, and with all.

  python -m run.measure_quantization --init_checkpoint=FINE_TUNED_FOLDER --data_dir=SST-2

Rounded matrices are computed as in a LiteRT file with int8 weights. A tagger or multiple choice requires --dev_file,
and a span labeler --predict_file, instead of --data_dir.
"""

from bert_tf.cli import script
from run.compression.settings import QuantizationSettings

SETTINGS = QuantizationSettings()
COMMAND = script.Command(SETTINGS, "run.compression.int8_report", only=SETTINGS.values().keys() - {"train_file"})

if __name__ == "__main__":
    COMMAND.run()
