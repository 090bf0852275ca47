"""Conversion of raw text to TFRecord files: pre-training data, vocabularies, and fine-tuning
datasets."""
