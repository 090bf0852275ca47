"""Training techniques, each an object that changes a run; see `Technique`."""
