"""The treatment of padding in batches."""

import enum


class Padding(enum.Enum):
    """The shapes of batches, and what is computed for their padding."""

    # Batches have examples of similar length and are as long as the longest. Layers compute only
    # tokens, so the outputs for padding are undefined.
    REMOVED = "removed"
    # Batches are the same, and layers also compute padding.
    DYNAMIC = "dynamic"
    # All batches have the same shape, as TPUs and XLA require, and layers also compute padding.
    STATIC = "static"
