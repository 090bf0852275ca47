"""Data augmentation: copies of texts in which some words are replaced with likely ones."""

from data_prep.augmentation.settings import AugmentationSettings

__all__ = ["AugmentationSettings"]
