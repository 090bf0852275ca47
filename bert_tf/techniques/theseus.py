"""Layers of a student that stand in for a teacher's at random (Xu et al. 2020, "BERT-of-Theseus").

The layers of the teacher are parted into as many groups as the student has layers. While training, each group of the
teacher's, whose weights stay, is computed in place of the student's layer, unless chance takes that. The share of the
student's layers rises, until the student is alone.
"""

import dataclasses

import tensorflow as tf

from bert_tf.layers import attached


class ReplacingRate:
    """With what probability a layer of the student is taken: rises linearly from a first value to 1, and stays there.

    Args:
      first: float, at step 0.
      num_steps: int, the step from which it is 1.
      step: function without arguments that gives the number of steps done, int scalar.
      seed: int; fixes what is taken at which step, so that a resumed run takes the same.
    """

    def __init__(self, first, num_steps, step, seed):
        self._first, self._num_steps, self._step, self._seed = first, num_steps, step, seed

    def value(self):
        """The probability at this step, float32 scalar."""
        done = tf.cast(self._step(), tf.float32) / max(1, self._num_steps)
        return tf.minimum(1.0, self._first + (1.0 - self._first) * done) if self._num_steps else tf.constant(1.0)

    def draw(self, num_layers):
        """Which layers of the student are taken at this step, bool [num_layers]: one draw for a whole batch."""
        seed = tf.stack([tf.constant(self._seed % 2**31, tf.int64), tf.cast(self._step(), tf.int64)])
        return tf.random.stateless_uniform([num_layers], seed) < self.value()


def groups(layer_map):
    """The teacher's layers that each layer of the student stands for, a tuple of ranges.

    Args:
      layer_map: of layer_maps.map_layers, "uniform": the last layer of each group.
    """
    starts = (0, *(layer + 1 for layer in layer_map[:-1]))
    return tuple(range(start, last + 1) for start, last in zip(starts, layer_map, strict=True))


class TheseusModel:
    """A student some of whose layers are the teacher's, in training: what a training step runs.

    Args:
      student, teacher: models of bert_tf.models, of one width.
      layer_map: see `groups`.
      rate: ReplacingRate.
    """

    def __init__(self, student, teacher, layer_map, rate):
        self._student, self._rate = student, rate
        layers = teacher.encoder.encoder_layers
        self._groups = [[layers[number] for number in group] for group in groups(layer_map)]
        self.compute_dtype = student.compute_dtype

    @property
    def trainable_variables(self):
        """The student's."""
        return self._student.trainable_variables

    def __call__(self, features, training=False):
        """The student's outputs."""
        if not training:
            return self._student(features, training=False)
        encoder = self._student.encoder
        takes = tf.unstack(self._rate.draw(len(encoder.encoder_layers)))

        def replace(number, layer, x, run):
            """A hook: computes a group of the teacher's layers instead of the student's layer, unless that is taken."""
            *lower, last = self._groups[number]

            def compute_group():
                y = x
                for each in lower:
                    y, _ = each(y, run.layout, run.attention_bias)
                return dataclasses.replace(run, dropout_seeds=None)(last, y)[0]

            return tf.cond(takes[number], lambda: run(layer, x)[0], compute_group), None

        with attached([(encoder, replace)]):
            return self._student(features, training=True)
