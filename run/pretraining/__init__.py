"""Pre-training: records in, a pre-trained model out."""
