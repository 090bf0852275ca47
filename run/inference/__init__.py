"""Predictions, embeddings, exports, and conversions of models, and the comparison of models."""
