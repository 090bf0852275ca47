"""Embeddings of a text or a pair of texts."""
