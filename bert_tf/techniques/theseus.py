"""Replaces a teacher's layers with a student's at random (Xu et al. 2020, "BERT-of-Theseus").

The layers of the teacher are divided into as many groups as the student has layers. In training,
each group, with frozen weights, is computed instead of the student's layer, unless the latter is
sampled. The probability of the student's layers rises until only the student remains.
"""

import dataclasses

import tensorflow as tf

from bert_tf.layers import NO_SEEDS
from bert_tf.techniques.layer_maps import map_layers


def draw_layers(num_layers, first, num_steps, step, seed):
    """Samples the layers of the student to use at a step, the same for the whole batch.

    Args:
      num_layers: int. Number of the student's layers.
      first: float. Probability at step 0; it rises linearly to 1.
      num_steps: int, at least 1. First step at which the probability is 1.
      step: int scalar. Number of previous steps.
      seed: int. A resumed run samples the same layers.

    Returns:
      bool [num_layers].
    """
    probability = first + (1.0 - first) * (tf.cast(step, tf.float32) / num_steps)
    seed = tf.stack([tf.constant(seed % 2**31, tf.int64), tf.cast(step, tf.int64)])
    return tf.random.stateless_uniform([num_layers], seed) < probability


class TheseusModel:
    """A student with some layers replaced by the teacher's in training, for a training step.

    Args:
      student, teacher: Models of bert_tf.models with the same hidden size.
      draw: Function num_layers -> bool [num_layers]. See `draw_layers`.
    """

    def __init__(self, student, teacher, draw):
        self._student = student
        self._draw = draw
        layers = teacher.encoder.encoder_layers
        ends = [
            last + 1
            for last in map_layers("uniform", len(student.encoder.encoder_layers), len(layers))
        ]
        self._groups = [layers[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)]
        self.compute_dtype = student.compute_dtype

    @property
    def trainable_variables(self):
        """Variables of the student."""
        return self._student.trainable_variables

    def __call__(self, features, training=False):
        """Returns the student's outputs."""
        if not training:
            return self._student(features, training=False)
        encoder = self._student.encoder
        uses_student = tf.unstack(self._draw(len(encoder.encoder_layers)))
        compute = encoder.compute_layer

        def compute_layer(number, layer, x, context):
            """Computes a group of the teacher's layers unless the student's layer is sampled.

            For the arguments, see `BertEncoder.compute_layer`.
            """
            *lower, last = self._groups[number]
            last_context = context.without_dropout()
            lower_context = dataclasses.replace(
                last_context.for_layer(NO_SEEDS, is_last=False), return_attention=False
            )

            # Both branches copy x: compiled blocks keep the input for their gradient, and a branch
            # can only keep its own tensors.
            def compute_group():
                y = tf.identity(x)
                for teacher_layer in lower:
                    y = teacher_layer(y, lower_context)
                return last(y, last_context)

            return tf.cond(
                uses_student[number],
                lambda: compute(number, layer, tf.identity(x), context),
                compute_group,
            )

        vars(encoder)["compute_layer"] = compute_layer  # Keras does not track it.
        try:
            return self._student(features, training=True)
        finally:
            del vars(encoder)["compute_layer"]
