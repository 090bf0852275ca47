"""Examples that are held in arrays: batches for training, several examples in a row, and what a model makes of them."""
