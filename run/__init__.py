"""Command-line scripts for pre-training, fine-tuning, evaluation, and export."""
