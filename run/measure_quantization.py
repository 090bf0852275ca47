"""Says what int8 costs a fine-tuned model: its score with each matrix rounded alone, and with all of them.

  python -m run.measure_quantization --init_checkpoint=FINE_TUNED_FOLDER --data_dir=SST-2

What is rounded is computed as a LiteRT file with int8 weights computes it. A tagger and multiple choice take
--dev_file, a span labeler --predict_file, in place of --data_dir.
"""

from bert_tf.cli import script
from run.compression.settings import QuantizationSettings

COMMAND = script.Command(QuantizationSettings(), "run.compression.int8_report")

if __name__ == "__main__":
    COMMAND.run()
