"""Learns a WordPiece vocabulary from text, or adds words of a domain to an existing vocabulary.

    python -m data_prep.learn_vocab --input_file='corpus/*.txt.gz' --vocab_file=vocab.txt \\
        --vocab_size=30522

Splits text into words like the tokenizer, counts them on all cores, and merges tokens from
characters in order of decreasing frequency. The same text and flags give the same vocabulary for
any number of processes.
"""

from bert_tf.cli import script
from data_prep.vocabulary import VocabularySettings

COMMAND = script.Command(VocabularySettings(), "data_prep.vocabulary.job")

if __name__ == "__main__":
    COMMAND.run()
