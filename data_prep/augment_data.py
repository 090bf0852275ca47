"""Writes a table of examples with copies of each example, in which some words are replaced with likely ones.

    python -m data_prep.augment_data --input_file=sst2/train.tsv --output_file=sst2_augmented/train.tsv \\
        --task_name=sst-2 --init_checkpoint=bert_base

Creates data for distillation (TinyBERT, section 3.3). The masked LM replaces single-token words, and nearest neighbors
in the word embedding matrix replace longer words. The texts of a pair are augmented separately.
"""

from bert_tf.cli import script
from data_prep.augmentation import AugmentationSettings

COMMAND = script.Command(AugmentationSettings(), "data_prep.augmentation.job")

if __name__ == "__main__":
    COMMAND.run()
