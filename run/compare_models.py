"""Compares fine-tuned models of one task: parameters, megabytes, score, and latency as SavedModel and LiteRT.

  python -m run.compare_models --models=sst2,student,pruned --data_dir=SST-2 --output_dir=report

Taggers and multiple choice require --dev_file, and span labelers --predict_file, instead of --data_dir.
"""

from bert_tf.cli import script
from run.compression.settings import ComparisonSettings

COMMAND = script.Command(ComparisonSettings(), "run.compression.comparison")

if __name__ == "__main__":
    COMMAND.run()
