"""The feature-based approach: a BiLSTM on the embeddings of a frozen encoder.

See section 5.3 of the paper.
"""
