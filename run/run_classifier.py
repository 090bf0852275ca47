"""Fine-tunes BERT on sentences or sentence pairs: your CSV, TSV, JSON lines, or GLUE, XNLI, SICK.

  python -m run.run_classifier --data_file=reviews.csv --init_checkpoint=minilm \\
      --output_dir=out --do_train --do_eval

  python -m run.run_classifier --task_name=MRPC --data_dir=MRPC \\
      --init_checkpoint=uncased_L-12_H-768_A-12 --output_dir=mrpc --do_train --do_eval
"""

from bert_tf.cli import script
from data_prep.tasks import classifier
from run.finetuning.settings import FineTuningSettings
from run.training.settings import OriginalDeviceSettings

SETTINGS = FineTuningSettings(
    devices=OriginalDeviceSettings(), task_settings=classifier.ClassifierSettings()
)
COMMAND = script.Command(SETTINGS, "run.finetuning.job")

if __name__ == "__main__":
    COMMAND.run()
