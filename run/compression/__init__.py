"""Jobs that make a model smaller, a package each, and the comparison of what came out."""
