"""Settings of jobs: their rules, the roles of paths, and values from files next to a checkpoint."""
