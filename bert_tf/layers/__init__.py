"""The layers that models are made of: embeddings, attention, an encoder layer, heads, and what these share."""
