"""Examples in arrays: training batches, packing, and prediction."""
