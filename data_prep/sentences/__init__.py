"""Sentences from raw text: formats of the input, and the division of paragraphs into sentences."""

from data_prep.sentences.settings import SentenceSettings

__all__ = ["SentenceSettings"]
