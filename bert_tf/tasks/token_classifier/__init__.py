"""A label per word of a text."""
