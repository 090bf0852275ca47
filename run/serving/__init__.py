"""Inference from a checkpoint or an export, in the terminal or with files."""
