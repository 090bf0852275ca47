"""Steps compiled by the TPU's own compiler, on a machine without a TPU: `python -m benchmarks.tpu_compile`.

What the project runs on each replica is traced with static shapes, lowered by TensorFlow to StableHLO (`steps`), and
compiled by libtpu for one chip of a TPU topology (`compiler`). Memory and FLOPs are the compiler's own figures. Nothing
runs: times are arithmetic or the compiler's estimate (`estimates`), and neither the sum of gradients over chips nor the
input pipeline is in them.
"""
