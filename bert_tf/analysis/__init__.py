"""Attention heads as numbers: behaviors, distances between heads, dependencies; words from tokens."""
