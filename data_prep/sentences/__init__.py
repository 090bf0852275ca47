"""Sentences from raw text: formats of the input, sentence splitting, and shards of the output.

Does not import TensorFlow, because worker processes import this package.
"""

from data_prep.sentences.settings import SentenceSettings

__all__ = ["SentenceSettings"]
