"""Probing: what the frozen layers of a model know of words, as linear classifiers read it off them."""
