"""Evaluates an exported model on development data, and compares it with its source checkpoint.

  python -m run.evaluate_export --init_checkpoint=OUTPUT_DIR --model=serving/sst2 --data_dir=SST-2

A span labeler requires --predict_file, and a tagger or multiple choice --dev_file, instead of --data_dir.
"""

from bert_tf.cli import script
from run.inference.settings import EVALUATION_FLAGS, ExportEvaluationSettings

COMMAND = script.Command(ExportEvaluationSettings(), "run.inference.export_evaluation", EVALUATION_FLAGS)

if __name__ == "__main__":
    COMMAND.run()
