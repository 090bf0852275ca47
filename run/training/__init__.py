"""Training under any strategy: the step, the loop, checkpoints, logs, what a run was started with."""
