"""Compilation of steps with the TPU compiler on a machine without a TPU: `python -m benchmarks.tpu_compile`.

The code that each replica runs is traced with static shapes, lowered by TensorFlow to StableHLO (`steps`), and compiled
by libtpu for one chip of a TPU topology (`compiler`). Memory and FLOPs are the compiler's figures. Nothing runs: times
are arithmetic or the compiler's estimate (`estimates`). They include neither the all-reduce of gradients nor the input
pipeline.
"""
