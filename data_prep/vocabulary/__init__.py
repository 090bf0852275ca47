"""Word counts of a corpus, and WordPiece vocabularies learned from them.

Does not import TensorFlow, because worker processes import this package.
"""

from data_prep.vocabulary.counts import WordCounts, count_words
from data_prep.vocabulary.learner import count_tokens, fill_unused, learn_vocabulary, write_vocabulary
from data_prep.vocabulary.settings import VocabularySettings

__all__ = ["VocabularySettings", "WordCounts", "count_tokens", "count_words", "fill_unused", "learn_vocabulary",
           "write_vocabulary"]
