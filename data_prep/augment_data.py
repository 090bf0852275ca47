"""Writes a table of examples with copies of each, in which some words are replaced by likely others.

    python -m data_prep.augment_data --input_file=sst2/train.tsv --output_file=sst2_augmented/train.tsv \\
        --task_name=sst-2 --init_checkpoint=bert_base

More data for distillation (TinyBERT, section 3.3): a word of one piece is replaced by what the checkpoint's masked LM
expects in its place, one of several by the nearest entries of its word table. Each text of a pair is changed by itself.
"""

from bert_tf.cli import script
from data_prep.augmentation import AugmentationSettings

COMMAND = script.Command(AugmentationSettings(), "data_prep.augmentation.job")

if __name__ == "__main__":
    COMMAND.run()
