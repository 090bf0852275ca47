"""What attention heads do, as numbers: behaviours, distances between heads, dependencies; words out of pieces."""
