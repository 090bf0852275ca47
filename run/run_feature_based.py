"""Trains a BiLSTM on a frozen encoder's embeddings: texts, pairs, numbers, or labels of words.

  python -m run.run_feature_based --train_file=train.txt --dev_file=valid.txt \\
      --init_checkpoint=cased_L-12_H-768_A-12 --output_dir=frozen --features=all

  python -m run.run_feature_based --task_name=MRPC --data_dir=MRPC \\
      --init_checkpoint=uncased_L-12_H-768_A-12 ...

This is the feature-based approach in section 5.3 of the paper.
"""

from bert_tf.cli import script
from run.feature_based.settings import FeatureBasedSettings

COMMAND = script.Command(FeatureBasedSettings(), "run.feature_based.job")

if __name__ == "__main__":
    COMMAND.run()
