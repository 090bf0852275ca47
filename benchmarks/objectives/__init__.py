"""Ways to pre-train a small model at equal compute: what each objective, way of masking and packing brings."""
