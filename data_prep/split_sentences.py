"""Splits raw text into sentences, the input of create_pretraining_data and learn_vocab.

    python -m data_prep.split_sentences --input_file='articles/*.txt.gz' --output_dir=sentences \\
        --language=en
    python -m data_prep.create_pretraining_data --input_file=sentences \\
        --output_file=train.tfrecord --vocab_file=vocab.txt

The input is plain text with one paragraph per line, JSON lines, or the output of WikiExtractor. The
output has one sentence per line and a blank line after each document. The files appear when all of
them are complete.
"""

from bert_tf.cli import script
from data_prep.sentences import SentenceSettings

COMMAND = script.Command(SentenceSettings(), "data_prep.sentences.job")

if __name__ == "__main__":
    COMMAND.run()
