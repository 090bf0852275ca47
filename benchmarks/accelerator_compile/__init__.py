"""Compilation of steps for TPUs and GPUs on a machine without them: `python -m benchmarks.accelerator_compile`.

The code that each replica runs is traced with static shapes, lowered by TensorFlow to StableHLO (`steps`), and compiled
by libtpu or XLA's GPU compiler for a chip that is not attached (`compiler`, `chips`). Nothing runs.
"""
