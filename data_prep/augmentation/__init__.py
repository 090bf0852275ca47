"""More training data from what there is: copies of texts in which some words are replaced by likely others."""

from data_prep.augmentation.settings import AugmentationSettings

__all__ = ["AugmentationSettings"]
