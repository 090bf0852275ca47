"""The features that every model is called with.

Features are a dict:

  input_ids: int32 [B, S], WordPiece IDs, below the config's vocab_size.
  input_mask: int32 [B, S], 1 at tokens and 0 at padding.
  segment_ids: int32 [B, S], 0 in the first text and 1 in the second; below the config's
    type_vocab_size.

Models also accept int64, which other tokenizers return.

Eager calls raise an InputError for IDs out of range. Graphs do not check them, to save the time:
such a segment ID has the embedding zero, and so has an input ID on a GPU, or if words are looked up
by one-hot matrices. On a CPU, the lookup of such an input ID fails.

A row may contain several sequences (a packed row). The features then also have

  positions: int32 [B, S]. Position of each token in its own sequence, in [0, S),

and input_mask has the 1-based number of each token's sequence. Tokens attend only to tokens of the
same sequence.

With causal attention, a token attends only to itself and earlier tokens. Only the last token of a
sequence, its final [SEP], then attends to all of it, so the pooler reads the last token instead of
[CLS].

Does not import TensorFlow.

Shape legend: B batch, S sequence.
"""

FEATURES = ("input_ids", "input_mask", "segment_ids")
