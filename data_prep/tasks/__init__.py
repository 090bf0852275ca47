"""Fine-tuning data sets as published -> features, and predictions -> the files that are asked for."""

from data_prep.tasks import classification, multiple_choice, squad, tagging

__all__ = ["classification", "multiple_choice", "squad", "tagging"]
