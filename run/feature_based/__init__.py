"""The feature-based approach: a BiLSTM on the embeddings of a frozen encoder (section 5.3 of the
paper)."""
