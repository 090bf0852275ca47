"""Pre-training from record files to a pre-trained model."""
