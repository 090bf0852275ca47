"""Behaviors of attention heads: averages over tokens, and dependencies between words.

The averages follow sections 3.1 to 3.3 of Clark et al. 2019. The dependencies follow section 4.2:
heads that attend from words to their syntactic heads, or back.

Shape legend: B batch, N heads, LN heads of all layers, S sequence, WO words, ME measures, V
vocabulary.
"""

from typing import NamedTuple

import tensorflow as tf

MIN_PROBABILITY = 1e-30  # Lower bound at which p log p is effectively 0.


class Measure(NamedTuple):
    """A number that describes a head, averaged over the tokens for which it is defined."""

    name: str  # In tables.
    title: str  # For people.
    help: str
    # Whether it is a fraction of attention to a target that characterizes the head.
    is_behavior: bool = False


MEASURES = (
    Measure(
        "entropy",
        "entropy",
        "Entropy of the attention of a token, in nats: 0 if it goes to only one token.",
    ),
    Measure("distance", "distance", "Mean distance to the attended token, in tokens."),
    Measure("same", "same token", "Attention of a token to itself.", True),
    Measure(
        "previous",
        "previous token",
        "Attention to the previous token, from all tokens except the first.",
        True,
    ),
    Measure(
        "next", "next token", "Attention to the next token, from all tokens except the last.", True
    ),
    Measure("cls", "[CLS]", "Attention to [CLS].", True),
    Measure("sep", "[SEP]", "Attention to [SEP].", True),
    Measure(
        "punctuation", "punctuation", "Attention to tokens that are one punctuation mark.", True
    ),
    Measure("first_text", "first text", "Attention to the first text, without [CLS] and [SEP]."),
    Measure(
        "second_text", "second text", "For pairs: attention to the second text, without its [SEP]."
    ),
    Measure(
        "other_text",
        "other text",
        "For pairs: attention from tokens of one text to tokens of the other.",
    ),
)
NAMES = tuple(measure.name for measure in MEASURES)
DIRECTIONS = ("dependent to head", "head to dependent")


class Tokens(NamedTuple):
    """Properties of the tokens of a batch; float32 [B, S] with 1 and 0."""

    real: tf.Tensor  # Non-padding tokens.
    cls: tf.Tensor
    sep: tf.Tensor
    punctuation: tf.Tensor  # Tokens that are a punctuation mark.
    first: tf.Tensor  # Tokens of the first text, without [CLS] and [SEP].
    second: tf.Tensor
    in_pair: tf.Tensor  # Non-padding tokens in a row of two texts.

    @classmethod
    def from_features(cls, features, tokenizer, is_punctuation):
        """Creates the Tokens for features.

        Args:
          features: Dict of BertEncoder's inputs, int32 [B, S].
          tokenizer: Tokenizer, for the IDs of [CLS] and [SEP].
          is_punctuation: bool [V]. Whether each token of the vocabulary is a punctuation mark.
        """
        ids = features["input_ids"]
        real = features["input_mask"] > 0
        is_cls = ids == tokenizer.cls_id
        is_sep = ids == tokenizer.sep_id
        is_second = features["segment_ids"] > 0
        is_text = real & ~is_cls & ~is_sep
        in_pair = real & tf.reduce_any(is_second & is_text, axis=1, keepdims=True)
        masks = (
            real,
            is_cls & real,
            is_sep & real,
            tf.gather(is_punctuation, ids) & is_text,
            is_text & ~is_second,
            is_text & is_second,
            in_pair,
        )
        return cls(*(tf.cast(mask, tf.float32) for mask in masks))


def sum_measures(attention, tokens):
    """Computes the sums of MEASURES over the tokens of a batch.

    Args:
      attention: float32 [B, N, S, S]. Probabilities, from the second last axis to the last; any
        values at padding.
      tokens: Tokens of the batch.

    Returns:
      float32 [N, ME].
    """
    size = tf.shape(attention)[-1]
    first = tokens.first * tokens.in_pair
    second = tokens.second
    # Attention to each token from all non-padding tokens, from pairs, from first texts, and from
    # second texts.
    givers = tf.stack([tokens.real, tokens.in_pair, first, second], axis=1)  # [B, 4, S]
    received = tf.matmul(givers[:, tf.newaxis], attention)  # [B, N, 4, S]
    by_all, by_pairs, by_first, by_second = tf.unstack(received, axis=2)

    def sum_attention(received, receivers):
        return tf.einsum("bns,bs->n", received, receivers)

    distances = tf.abs(tf.range(size)[:, tf.newaxis] - tf.range(size))
    weights = tf.cast(distances, tf.float32) * tokens.real[:, :, tf.newaxis]  # [B, S, S]
    logs = tf.math.log(tf.maximum(attention, MIN_PROBABILITY))
    entropy = -tf.einsum("bnq,bq->n", tf.reduce_sum(attention * logs, axis=-1), tokens.real)
    return tf.stack(
        [
            entropy,
            tf.einsum("bnqk,bqk->n", attention, weights),
            _diagonal(attention, tokens.real, 0),
            _diagonal(attention, tokens.real[:, 1:], -1),
            _diagonal(attention, tokens.real[:, 1:], 1),
            sum_attention(by_all, tokens.cls),
            sum_attention(by_all, tokens.sep),
            sum_attention(by_all, tokens.punctuation),
            sum_attention(by_all, tokens.first),
            sum_attention(by_pairs, tokens.second),
            sum_attention(by_first, tokens.second) + sum_attention(by_second, first),
        ],
        axis=-1,
    )


def count_measured_tokens(tokens):
    """Computes the number of Tokens of a batch in each of MEASURES, float32 [ME]."""
    every = tf.reduce_sum(tokens.real)
    neighbors = tf.reduce_sum(tokens.real[:, 1:])
    pairs = tf.reduce_sum(tokens.in_pair)
    in_texts = tf.reduce_sum(tokens.in_pair * (tokens.first + tokens.second))
    return tf.stack(
        [every, every, every, neighbors, neighbors, every, every, every, every, pairs, in_texts]
    )


def _diagonal(attention, counted, offset):
    """Sums a diagonal of attention over the tokens that are counted [B, S - |offset|]: [N]."""
    return tf.einsum("bns,bs->n", tf.linalg.diag_part(attention, k=offset), counted)


def word_attention(attention, words, num_words):
    """Computes attention between words: summed to the tokens of a word, averaged from them.

    Other tokens are ignored.

    Args:
      attention: float32 [B, N, S, S].
      words: int32 [B, S]. Number of each token's word in its sentence, -1 at [CLS], [SEP], and
        padding.
      num_words: int, W.

    Returns:
      float32 [B, N, WO, WO].
    """
    member = tf.one_hot(words, num_words)  # [B, S, WO]
    lengths = tf.maximum(tf.reduce_sum(member, axis=1), 1.0)  # [B, WO]
    to_words = tf.matmul(attention, member[:, tf.newaxis])  # [B, N, S, WO]
    return tf.matmul((member / lengths[:, tf.newaxis])[:, tf.newaxis], to_words, transpose_a=True)


def hits(attention, heads):
    """Compares each dependent's most attended other word with its head, and the other way around.

    Args:
      attention: float32 [B, N, WO, WO] from `word_attention`.
      heads: int32 [B, WO]. Number of each word's head, -1 if it has none, and at padding.

    Returns:
      bool [2, B, N, WO], by DIRECTIONS: whether they are equal; False without a head.
    """
    others = tf.linalg.set_diag(attention, -tf.ones(tf.shape(attention)[:-1]))
    strongest_from = tf.argmax(others, axis=-1, output_type=tf.int32)  # [B, N, WO]
    strongest_to = tf.argmax(others, axis=-2, output_type=tf.int32)
    return tf.stack([strongest_from, strongest_to]) == heads[:, tf.newaxis]
