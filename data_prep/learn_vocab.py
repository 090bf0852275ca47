"""Learns a WordPiece vocabulary from text, or adds a domain's words to one that a checkpoint already uses.

    python -m data_prep.learn_vocab --input_file='corpus/*.txt.gz' --vocab_file=vocab.txt --vocab_size=30522

Words are counted as the tokenizer cuts them, on all cores, and pieces are merged from characters by falling
frequency. The same text and flags give the same vocabulary, whatever the number of processes.
"""

from bert_tf.cli import script
from data_prep.vocabulary import VocabularySettings

COMMAND = script.Command(VocabularySettings(), "data_prep.vocabulary.job")

if __name__ == "__main__":
    COMMAND.run()
