"""Smaller models from fine-tuned ones, a package for each way to make them."""
