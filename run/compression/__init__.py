"""Jobs that make a model smaller, a package for each way, and the comparison of what came out."""
