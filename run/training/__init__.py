"""Training under any distribution strategy: step, loop, checkpoints, and logs."""
