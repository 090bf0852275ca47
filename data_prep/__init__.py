"""Conversion of raw text to vocabularies, pre-training records, and fine-tuning datasets."""
