"""Candidates for each [MASK] of a text or a pair of texts."""
