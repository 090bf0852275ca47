"""Evaluates models of one task in any format: size, score, latency, agreement with the first one.

  python -m run.evaluate_models --data_dir=SST-2 \\
      --models=sst2,served/sst2/1,served/sst2/model_int8.tflite

  python -m run.evaluate_models --models=sst2 --data_dir=SST-2 --int8_matrices

Taggers and multiple choice require --dev_file, and span labelers --predict_file, instead of
--data_dir.
"""

from bert_tf.cli import script
from run.inference.evaluation_settings import ModelEvaluationSettings

COMMAND = script.Command(ModelEvaluationSettings(), "run.inference.evaluate_models")

if __name__ == "__main__":
    COMMAND.run()
