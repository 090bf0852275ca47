"""Pruning of layers, heads, neurons, and word embeddings of a fine-tuned model."""
