"""Low-rank adapters of projections (LoRA: Hu et al. 2021, arXiv:2106.09685).

Shape legend: T tokens, K inputs of a projection, M its outputs, R rank.
"""

import tensorflow as tf
import tf_keras

from bert_tf.layers.hooks import Hook


class LowRankAdapter(tf_keras.layers.Layer, Hook):
    """A hook that adds scale x A B to x W of a Projection whose kernel W is frozen, for each of `parts` kernels.

    A is Gaussian and B zero, so that nothing changes at first. The paper tells no deviation: it is that of its authors'
    code, 1 / sqrt(3 K).

    Weights: `lora_a` [K, parts * R] and `lora_b` [R, M], in which parts lie side by side as in the kernel.

    Args:
      kernel: variable [K, M], after which the weights are named.
      rank: R.
      scale: float.
      parts: how many kernels lie side by side in `kernel`, as query, key and value do.
      seed: int pair, of A.
    """

    def __init__(self, kernel, rank, scale, parts, seed, *, dtype=None):
        super().__init__(name="adapter", dtype=dtype)
        self._scale, self._parts = scale, parts
        inputs, outputs = kernel.shape

        def draw(shape, dtype=tf.float32, **unused_keras_options):
            return tf.random.stateless_normal(shape, seed, stddev=(3 * inputs)**-0.5, dtype=dtype)

        with tf.name_scope(f"{kernel.name.rpartition('/')[0]}/"):
            self.lora_a = self.add_weight("lora_a", [inputs, parts * rank], initializer=draw)
            self.lora_b = self.add_weight("lora_b", [rank, outputs], initializer="zeros")

    def call(self, x):
        """x [T, K] -> [T, M]."""
        inner = tf.split(tf.matmul(x, self.lora_a) * self._scale, self._parts, axis=1)
        outer = tf.split(self.lora_b, self._parts, axis=1)
        return tf.concat([tf.matmul(*each) for each in zip(inner, outer, strict=True)], axis=1)

    def product(self, x, kernel, multiply):
        """See Hook."""
        return multiply(x, kernel) + self(x)

    def kernel(self, kernel):
        """See Hook."""
        return kernel + self.delta()

    def delta(self):
        """The matrix [K, M] that stands for it as an addition to the kernel."""
        pairs = zip(*(tf.split(each, self._parts, axis=1) for each in (self.lora_a, self.lora_b)), strict=True)
        return self._scale * tf.concat([tf.matmul(*each) for each in pairs], axis=1)
