"""Training techniques, which are objects that change a run. See `Technique`."""
