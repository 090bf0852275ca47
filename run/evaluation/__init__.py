"""Scores of predictions, result files and pictures."""
