"""Compilation of steps for TPUs and GPUs on a machine without them: `python -m benchmarks.accelerator_compile`.

The code that each replica runs is traced with static shapes, lowered by TensorFlow to StableHLO (`steps`), and compiled
by libtpu or XLA's GPU compiler for a chip that is not attached (`compiler`, `chips`). Memory is the compiler's figure.
Nothing runs: times are the TPU compiler's estimate, or the roofline of the GPU's kernels (`estimates`, `roofline`).
They include neither the all-reduce of gradients nor the input pipeline.
"""
