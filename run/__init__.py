"""Command-line drivers: pre-training, fine-tuning, evaluation, export."""
