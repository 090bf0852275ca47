"""Scores of predictions, result files, and plots."""
