"""Layers for XLA on TPUs and GPUs, which move and write less data.

Heads stay where the projections put them, so the compiled step moves less data between layouts.
Gradients keep fewer tensors, so it writes less. CPUs are slower with these layers. They are for
TPUs, and for 16 bits on GPUs with XLA.

Shape legend: B batch, S sequence, Q queries, P positions, T tokens, H hidden, N heads, D head
width, HI inputs of a matrix multiplication, HO outputs of a matrix multiplication.
"""

import math

import tensorflow as tf

from bert_tf.fast.layers import FastAttention, FastLayer
from bert_tf.fast.layout import take
from bert_tf.layers import AttentionMaps
from bert_tf.layers.basic import LAYER_NORM_EPSILON

# u = GELU_SCALE (x + GELU_CUBIC x^3)
GELU_SCALE = (2 / math.pi) ** 0.5
GELU_CUBIC = 0.044715
# Products of query and key, and of probabilities and value.
SCORES = "bqnd,bknd->bnqk"
CONTEXT = "bnqk,bknd->bqnd"


class EinsumAttention(FastAttention):
    """A FastAttention whose heads stay where the projections put them, [B, S, N, D].

    Query, key, and value come from three products.
    """

    def project_to_heads(self, x, context):
        """Projects x [B, S, H] to query, key, and value, [B, S, N, D] each."""
        del context
        heads = [self.num_heads, self.head_width]
        kernel = tf.reshape(merge_kernel(self.qkv), [x.shape[-1], 3, *heads])
        kernels = tf.unstack(kernel, axis=1)  # [H, N, D] each
        biases = tf.unstack(tf.reshape(self.qkv.bias, [3, *heads]))
        return [
            project_to_heads(x, tf.cast(kernel, x.dtype)) + tf.cast(bias, x.dtype)
            for kernel, bias in zip(kernels, biases, strict=True)
        ]

    def attend(self, query, key, value, context):
        """Computes the outputs of the heads.

        Args:
          query, key, value: [B, S, N, D].
          context: FastContext with a SequenceLayout.

        Returns:
          [B, S, N, D], or [B, P, N, D] with `context.at`; and AttentionMaps if requested, or None.
        """
        if context.at is not None:
            query = take(query, context.at)
        drop = self.create_drop(context)
        query = query * self.head_width**-0.5
        maps = None
        if context.return_attention:
            scores = tf.einsum(SCORES, query, key)
            maps = AttentionMaps(scores, self.softmax(scores, context))
        return attend(query, key, value, context.query_bias, drop), maps

    def create_drop(self, context):
        """Creates the Drop of the probabilities of the queries in use; None when not training."""
        if not context.is_training:
            return None
        layout = context.layout
        length = layout.sequence_length
        num_queries = length if context.at is None else tf.shape(context.at)[1]
        shape = tf.stack([layout.batch_size, self.num_heads, num_queries, length])
        return layout.create_drop(self.dropout.rate, shape, context.seeds.probabilities)


class EinsumLayer(FastLayer):
    """A FastLayer of [B, S, H], whose heads stay where the projections put them."""

    attention_class = EinsumAttention

    def attend(self, x, context):
        """Computes multi-head self-attention; see EncoderLayer.

        It does not join the outputs of the heads before their projection, for which XLA would copy
        them.
        """
        heads, maps = self.attention.call(x, context)  # [B, S, N, D]
        projection = self.attention_output
        kernel = tf.cast(merge_kernel(projection), heads.dtype)
        kernel = tf.reshape(kernel, [*heads.shape[2:], kernel.shape[-1]])  # [N, D, H]
        joined = tf.einsum("bsnd,ndh->bsh", heads, kernel) + tf.cast(projection.bias, heads.dtype)
        return context.to_rows(joined), maps

    def feed_forward(self, x, context):
        """Applies the feed-forward network to x.

        In 16 bits, the gradient of "gelu" keeps only its input.
        """
        is_gelu = self.intermediate.activation == "gelu"
        if not context.is_training or x.dtype == tf.float32 or not is_gelu:
            return super().feed_forward(x, context)
        return self.output_projection(gelu_from_input(self.intermediate(x, activated=False)))

    def add_and_normalize(self, y, x, norm, drop):
        """Returns norm(drop(y) + x).

        In 16 bits, statistics and gradient take one pass each.
        """
        if x.dtype == tf.float32:
            return super().add_and_normalize(y, x, norm, drop)
        x = (y if drop is None else drop(y)) + x
        return normalize_in_one_pass(x, *map(tf.convert_to_tensor, (norm.gamma, norm.beta)))


def merge_kernel(projection):
    """Returns a Projection's kernel [HI, HO], changed by its hooks.

    Raises:
      InputError: If a hook cannot change it.
    """
    kernel = projection.kernel
    for hook in projection.hooks:
        kernel = hook.kernel(kernel)
    return kernel


@tf.custom_gradient
def project_to_heads(x, kernel):
    """Projects x to heads, by a multiplication for which XLA copies no operand.

    The multiplication has the tokens in one axis, and its gradient has them in two.

    Args:
      x: [B, S, H].
      kernel: [H, N, D] of x's dtype.

    Returns:
      [B, S, N, D].
    """

    def gradient(upstream):
        return tf.einsum("bsnd,hnd->bsh", upstream, kernel), tf.einsum("bsh,bsnd->hnd", x, upstream)

    y = tf.einsum("th,hnd->tnd", tf.reshape(x, [-1, x.shape[-1]]), kernel)
    return tf.reshape(y, tf.concat([tf.shape(x)[:2], kernel.shape[1:]], axis=0)), gradient


def attend(query, key, value, bias, drop):
    """Computes the context of attention.

    The forward and backward pass keep one tensor of the scores' size.

    With scores z, kept elements m, and factor c of the kept ones, let e = exp(z - max z) and l =
    sum e. The forward pass computes o = c / l * (e m) V, and keeps e with the sign of m: the
    gradient needs no mask. For the gradient do of o, let g = c / l * do. Then dV = (e m)^T g, and
    dz = e (m (g V^T) - sum(do o) / l): the sum over the keys in the gradient of a softmax equals
    the sum over the head width of do o (Dao et al. 2022, arXiv:2205.14135, appendix B.2).

    Args:
      query: [B, Q, N, D], scaled.
      key, value: [B, S, N, D].
      bias: float32 [B, 1, 1, S] or [B, 1, Q, S], added to the scores.
      drop: Drop for the probabilities [B, N, Q, S]; None when not training.

    Returns:
      Context [B, Q, N, D] of query's dtype. Exponentials and sums are float32, or float64 for
      float64.
    """
    dtype = query.dtype
    wide = tf.float64 if dtype == tf.float64 else tf.float32
    is_masked = drop is not None and bool(drop.keep.shape.rank)
    scale = drop.scale if is_masked else 1.0

    @tf.custom_gradient
    def compute(query, key, value):
        """Returns the context and its gradient, from tensors of shapes as above."""
        scores = tf.cast(tf.einsum(SCORES, query, key), wide) + tf.cast(bias, wide)
        exponentials = _exponentiate(scores)
        factor = scale / tf.reduce_sum(exponentials, axis=-1)  # [B, N, Q]
        factor = tf.transpose(factor, [0, 2, 1])[..., tf.newaxis]  # [B, Q, N, 1]
        signed = tf.cast(
            tf.where(drop.keep, exponentials, -exponentials) if is_masked else exponentials, dtype
        )
        kept = tf.nn.relu(signed) if is_masked else signed
        context = tf.cast(tf.cast(tf.einsum(CONTEXT, kept, value), wide) * factor, dtype)

        def gradient(upstream):
            """Returns the gradients of query, key, and value."""
            wide_upstream = tf.cast(upstream, wide)
            scaled = tf.cast(wide_upstream * factor, dtype)
            means = tf.reduce_sum(
                wide_upstream * tf.cast(context, wide), axis=-1, keepdims=True
            ) * (factor / scale)
            means = tf.transpose(means, [0, 2, 1, 3])  # [B, N, Q, 1]
            products = tf.cast(tf.einsum(SCORES, scaled, value), wide)
            if is_masked:
                products = tf.where(signed > 0, products, 0.0)
            d_scores = tf.cast(tf.cast(tf.abs(signed), wide) * (products - means), dtype)
            return [
                tf.einsum("bnqk,bknd->bqnd", d_scores, key),
                tf.einsum("bnqk,bqnd->bknd", d_scores, query),
                tf.einsum("bnqk,bqnd->bknd", kept, scaled),
            ]

        return context, gradient

    return compute(query, key, value)


def _exponentiate(scores):
    """Returns exp(z - max z) for scores z, with the maximum over the last axis."""
    largest = tf.stop_gradient(tf.reduce_max(scores, axis=-1, keepdims=True))
    return tf.exp(scores - largest)


@tf.custom_gradient
def gelu_from_input(x):
    """Computes tf.nn.gelu(x, approximate=True), with a gradient that needs only x.

    GELU is x s with s = (1 + tanh u) / 2. The gradient writes s as sigmoid(2 u): XLA would merge a
    second tanh with the first one, and keep it from the forward to the backward pass.

    Args:
      x: [T, width] of a float dtype.

    Returns:
      x's shape and dtype.
    """

    def gradient(upstream):
        wide = tf.cast(x, tf.float32)
        squared = wide * wide
        s = tf.sigmoid(wide * (2 * GELU_SCALE + 2 * GELU_SCALE * GELU_CUBIC * squared))
        derivative = s * (
            1 + (1 - s) * wide * (2 * GELU_SCALE + 6 * GELU_SCALE * GELU_CUBIC * squared)
        )
        return upstream * tf.cast(derivative, x.dtype)

    return tf.nn.gelu(x, approximate=True), gradient


def normalize_in_one_pass(x, gamma, beta):
    """Normalizes x in float32; the variance and the gradient take one pass over x each.

    The variance is the mean square minus the squared mean: with a mean of m standard deviations,
    its relative error is about m^2 float32 roundings.

    Args:
      x: [..., width] of a 16-bit dtype.
      gamma, beta: float32 [width].

    Returns:
      x's shape and dtype.
    """

    @tf.custom_gradient
    def compute(x, gamma, beta):
        """Returns the normalized x and its gradient, from tensors of shapes as above."""
        wide = tf.cast(x, tf.float32)
        mean = tf.reduce_mean(wide, axis=-1, keepdims=True)
        variance = tf.maximum(
            tf.reduce_mean(wide * wide, axis=-1, keepdims=True) - mean * mean, 0.0
        )
        rate = tf.math.rsqrt(variance + LAYER_NORM_EPSILON)

        def gradient(upstream):
            """Returns the gradients of x, gamma, and beta."""
            upstream = tf.cast(upstream, tf.float32)
            wide = tf.cast(x, tf.float32)
            scaled = upstream * gamma
            normalized = (wide - mean) * rate
            mean_upstream = tf.reduce_mean(scaled, axis=-1, keepdims=True)
            mean_product = tf.reduce_mean(scaled * normalized, axis=-1, keepdims=True)
            # rate * (scaled - mean_upstream - normalized * mean_product), with fewer operations per
            # element.
            slope = rate * rate * mean_product
            dx = scaled * rate - wide * slope - (rate * mean_upstream - mean * slope)
            axes = list(range(x.shape.rank - 1))
            return [
                tf.cast(dx, x.dtype),
                tf.reduce_sum(upstream * normalized, axes),
                tf.reduce_sum(upstream, axes),
            ]

        return tf.cast((wide - mean) * (rate * gamma) + beta, x.dtype), gradient

    return compute(x, gamma, beta)
