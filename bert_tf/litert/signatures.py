"""The graphs in a .tflite file, their names and sizes: what writes it and what reads it have them from here."""

ROWS = "rows_"  # ROWS, batch size, x, length: the model on rows of ids
HEAD = "masks_"  # HEAD, number: a masked LM's head on so many vectors

LENGTHS = (16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)  # of rows, unless others are asked for
BATCH_SIZES = (1, 8)  # as well
