"""LoRA (Hu et al. 2021, arXiv:2106.09685): an encoder whose kernels are frozen, each with a trained low-rank adapter.

    add_adapters(encoder, rank=8, alpha=16.0, seed=1)     before the optimizer is built and anything is traced
    merge_adapters(encoder)                               after training: a plain encoder that computes the same

A checkpoint of such a model is read as that of a plain one, with the adapters merged (bert_tf.checkpoints.adapters).

Shape legend: T tokens, K inputs of a projection, M its outputs, R rank.
"""

import tensorflow as tf
import tf_keras

from bert_tf.checkpoints.adapters import SCALE
from bert_tf.errors import InputError
from bert_tf.layers import Hook, attach, detach
from bert_tf.techniques.freezing import freeze


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


def add_adapters(encoder, rank, alpha, seed, frozen_layers=0):
    """Freezes the embeddings and layers of an encoder, and gives its layers' kernels adapters: query, key, value and
    output of attention, and both of the feed-forward network. The pooler stays to be trained, as a part of the head.

    Args:
      encoder: BertEncoder; to be called in the strategy's scope.
      rank: int, of each adapter.
      alpha: float; alpha / rank is the factor of what adapters add.
      seed: int.
      frozen_layers: int, the lowest layers that get none, see bert_tf.techniques.freezing.

    Raises:
      InputError: no layer is left.
    """
    freeze(encoder, frozen_layers)
    layers = [layer for layer in dict.fromkeys(encoder.encoder_layers) if layer.trainable]
    if not layers:
        raise InputError(f"`freeze_layers`={frozen_layers}: leaves no layer for `lora_rank`={rank}")
    adapters = []
    for layer in layers:
        layer.trainable = False
        for projection in _projections(layer):
            parts = 3 if projection is layer.attention.qkv else 1
            adapter = LowRankAdapter(projection.kernel, rank, alpha / rank, parts, (seed, len(adapters)),
                                     dtype=projection.dtype_policy)
            attach(projection, adapter)
            adapters.append(adapter)
    encoder.adapters = adapters  # of whose variables Keras makes the encoder's
    encoder.adapter_scale = tf.Variable(alpha / rank, trainable=False, name=SCALE)  # for who reads a checkpoint


def merge_adapters(encoder):
    """Adds what the adapters of an encoder compute to its kernels, and takes them off.

    Functions that were traced with them compute the same after it: their part of it is then 0.
    """
    for layer in dict.fromkeys(encoder.encoder_layers):
        for projection in _projections(layer):
            for adapter in [hook for hook in projection.hooks if isinstance(hook, LowRankAdapter)]:
                detach(projection, adapter)
                projection.kernel.assign_add(adapter.delta())
                adapter.lora_b.assign(tf.zeros_like(adapter.lora_b))


def _projections(layer):
    """The Projections of an EncoderLayer."""
    return layer.attention.qkv, layer.attention_output, layer.intermediate, layer.output_projection
