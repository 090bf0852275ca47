"""Attention heads as numbers: behaviors, dependencies."""
