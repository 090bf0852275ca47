"""Attention heads as numbers: behaviors, dependencies; words from tokens."""
