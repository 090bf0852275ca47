"""Scores an exported model on development data, beside the checkpoint that it was made from.

  python -m run.evaluate_export --init_checkpoint=OUTPUT_DIR --model=serving/sst2 --data_dir=SST-2

A span labeler takes --predict_file, a tagger and multiple choice --dev_file, in place of --data_dir.
"""

from bert_tf.cli import script
from run.inference.settings import EVALUATION_FLAGS, ExportEvaluationSettings

COMMAND = script.Command(ExportEvaluationSettings(), "run.inference.export_evaluation", EVALUATION_FLAGS)

if __name__ == "__main__":
    COMMAND.run()
