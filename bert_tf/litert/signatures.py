"""Names and sizes of the graphs in a .tflite file, shared by the code that writes and reads it."""

ROWS = "rows_"  # ROWS, batch size, "x", length: the model on rows of IDs.
HEAD = "masks_"  # HEAD, number: a masked LM's head on this many states.

LENGTHS = (16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)  # Default lengths of rows.
BATCH_SIZES = (1, 8)  # Default batch sizes.
