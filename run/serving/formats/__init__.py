"""File formats for requests, predictions, and embeddings."""
