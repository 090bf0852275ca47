"""LoRA: an encoder with frozen kernels, each with a trained low-rank adapter.

The method is from Hu et al. 2021 (arXiv:2106.09685). Before the optimizer is built and anything is
traced:

    add_adapters(encoder, rank=8, alpha=16.0, seed=1)

After training, this results in an equivalent plain encoder:

    merge_into_kernels(encoder)

A checkpoint of such a model is read as one of a plain model, with merged adapters
(bert_tf.checkpoints.adapters).

Shape legend: T tokens, HI inputs of a matrix multiplication, HO outputs of a matrix
multiplication, RA rank.
"""

import tensorflow as tf
import tf_keras

from bert_tf.checkpoints.adapters import SCALE
from bert_tf.layers import multiply
from bert_tf.layers.hooks import Hook, attach, detach
from bert_tf.techniques.freezing import freeze
from bert_tf.techniques.masks import get_layers


class LowRankAdapter(tf_keras.layers.Layer, Hook):
    """A hook that adds scale x A B to x W of a Projection with the frozen kernel W.

    The product with the kernel is a separate one, so the kernel has no gradient.

    It has an A and a B for each of `parts` kernels. A is Gaussian and B is zero, so that nothing
    changes at first. The paper does not specify the standard deviation; the authors' code uses 1 /
    sqrt(3 HI).

    Weights: `lora_a` [HI, parts * RA] and `lora_b` [RA, HO], with parts concatenated as in the
    kernel.

    Args:
      kernel: Variable [HI, HO]. The weights are named after it.
      rank: int, RA.
      scale: float.
      parts: int. Number of kernels that are concatenated in `kernel`, such as query, key, and
        value.
      seed: Two ints. Seed of A.
    """

    def __init__(self, kernel, rank, scale, parts, seed, *, dtype=None):
        super().__init__(name="adapter", dtype=dtype)
        self._scale = scale
        self._parts = parts
        inputs, outputs = kernel.shape

        def draw(shape, dtype=tf.float32, **unused_keras_options):
            return tf.random.stateless_normal(shape, seed, stddev=(3 * inputs) ** -0.5, dtype=dtype)

        with tf.name_scope(f"{kernel.name.rpartition('/')[0]}/"):
            self.lora_a = self.add_weight("lora_a", [inputs, parts * rank], initializer=draw)
            self.lora_b = self.add_weight("lora_b", [rank, outputs], initializer="zeros")

    def call(self, x):
        """Computes the difference to the Projection's output: x [T, HI] -> [T, HO]."""
        inner = tf.split(multiply(x, self.lora_a) * self._scale, self._parts, axis=-1)
        outer = tf.split(self.lora_b, self._parts, axis=1)
        return tf.concat([multiply(*each) for each in zip(inner, outer, strict=True)], axis=-1)

    def product(self, x, kernel, multiply):
        """See Hook."""
        return multiply(x, kernel) + self(x)

    def kernel(self, kernel):
        """See Hook."""
        return kernel + tf.cast(self.delta(), kernel.dtype)

    def delta(self):
        """Computes the matrix [HI, HO] whose addition to the kernel is equivalent."""
        pairs = zip(
            *(tf.split(each, self._parts, axis=1) for each in (self.lora_a, self.lora_b)),
            strict=True,
        )
        return self._scale * tf.concat([tf.matmul(*each) for each in pairs], axis=1)


def add_adapters(encoder, rank, alpha, seed, frozen_layers=0):
    """Freezes the embeddings and layers of an encoder, and adds adapters to the layers' kernels.

    The kernels are query, key, value, and output of attention, and both of the feed-forward
    network: all of a layer, as in section 4 of QLoRA (Dettmers et al. 2023). The
    pooler remains trainable, as a part of the head.

    Args:
      encoder: BertEncoder. Call this in the scope of its strategy.
      rank: int. Rank of each adapter.
      alpha: float. The output of adapters is multiplied by alpha / rank.
      seed: int.
      frozen_layers: int. Number of lowest layers without adapters; see bert_tf.techniques.freezing.
    """
    freeze(encoder, frozen_layers)
    adapters = []
    for layer in get_layers(encoder):
        if not layer.trainable:
            continue
        layer.trainable = False
        for projection in _projections(layer):
            parts = 3 if projection is layer.attention.qkv else 1
            adapter = LowRankAdapter(
                projection.kernel,
                rank,
                alpha / rank,
                parts,
                (seed, len(adapters)),
                dtype=projection.dtype_policy,
            )
            attach(projection, adapter)
            adapters.append(adapter)
    # With these attributes, Keras adds the adapters' variables to those of the encoder, and a
    # checkpoint contains the scale for its readers. As attributes of a projection, Keras would
    # freeze the adapters with it.
    encoder.adapters = adapters
    encoder.adapter_scale = tf.Variable(alpha / rank, trainable=False, name=SCALE)


def merge_into_kernels(encoder):
    """Merges the adapters of an encoder into its kernels and removes them.

    Functions that were traced with them remain valid: the contribution of the adapters is then 0.
    """
    for layer in get_layers(encoder):
        for projection in _projections(layer):
            for adapter in [hook for hook in projection.hooks if isinstance(hook, LowRankAdapter)]:
                detach(projection, adapter)
                projection.kernel.assign_add(adapter.delta())
                adapter.lora_b.assign(tf.zeros_like(adapter.lora_b))


def _projections(layer):
    """Returns the Projections of an EncoderLayer."""
    return [
        layer.attention.qkv,
        layer.attention_output,
        layer.intermediate,
        layer.output_projection,
    ]
