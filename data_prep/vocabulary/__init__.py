"""Word counts of a corpus, and WordPiece vocabularies learned from them.

Does not import TensorFlow, because worker processes import this package.
"""

from data_prep.vocabulary.settings import VocabularySettings

__all__ = ["VocabularySettings"]
