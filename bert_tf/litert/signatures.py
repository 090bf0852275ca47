"""The names of the graphs in a .tflite file: what writes it and what reads it have them from here."""

ROWS = "rows_"  # ROWS, batch size, x, length: the model on rows of ids
HEAD = "masks_"  # HEAD, number: a masked LM's head on so many vectors
