"""Jobs that compress a model, and a comparison of the results."""
