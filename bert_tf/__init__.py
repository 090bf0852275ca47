"""BERT on TensorFlow 2: encoder, task models, tokenizer, losses, optimizer, checkpoints, export."""
