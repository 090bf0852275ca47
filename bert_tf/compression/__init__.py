"""Smaller models from trained ones: what can be taken out of a model, and what that costs."""
