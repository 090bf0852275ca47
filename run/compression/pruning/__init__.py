"""Pruning: heads, feed-forward neurons and layers are taken out of a fine-tuned model, in rounds."""
