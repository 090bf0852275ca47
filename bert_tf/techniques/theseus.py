"""Replaces a teacher's layers with a student's at random (Xu et al. 2020, "BERT-of-Theseus").

The layers of the teacher are divided into as many groups as the student has layers. In training, each group, with
frozen weights, is computed instead of the student's layer, unless the latter is sampled. The probability of the
student's layers rises until only the student remains.
"""

import tensorflow as tf


class ReplacingRate:
    """The probability of using a layer of the student: rises linearly from an initial value to 1, then stays constant.

    Args:
      first: float. Probability at step 0.
      num_steps: int. First step at which it is 1.
      step: Function without arguments -> number of previous steps, int scalar.
      seed: int. Determines the sampled layers of each step, so that a resumed run samples the same ones.
    """

    def __init__(self, first, num_steps, step, seed):
        self._first, self._num_steps, self._step, self._seed = first, num_steps, step, seed

    def value(self):
        """Returns the probability at this step, float32 scalar."""
        done = tf.cast(self._step(), tf.float32) / max(1, self._num_steps)
        return tf.minimum(1.0, self._first + (1.0 - self._first) * done) if self._num_steps else tf.constant(1.0)

    def draw(self, num_layers):
        """Samples the layers of the student to use at this step, bool [num_layers], the same for the whole batch."""
        seed = tf.stack([tf.constant(self._seed % 2**31, tf.int64), tf.cast(self._step(), tf.int64)])
        return tf.random.stateless_uniform([num_layers], seed) < self.value()


def groups(layer_map):
    """Returns the teacher's layers that each layer of the student replaces, a tuple of ranges, from the last of each.

    These are the result of `layer_maps.map_layers` for "uniform".
    """
    starts = (0, *(layer + 1 for layer in layer_map[:-1]))
    return tuple(range(start, last + 1) for start, last in zip(starts, layer_map, strict=True))


class TheseusModel:
    """A student with some layers replaced by the teacher's in training, for a training step.

    Args:
      student, teacher: Models of bert_tf.models with the same hidden size.
      layer_map, rate: See `groups` and `ReplacingRate`.
    """

    def __init__(self, student, teacher, layer_map, rate):
        self._student, self._rate = student, rate
        layers = teacher.encoder.encoder_layers
        self._groups = [[layers[number] for number in group] for group in groups(layer_map)]
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
        uses_student, compute = tf.unstack(self._rate.draw(len(encoder.encoder_layers))), encoder.compute_layer

        def compute_layer(number, layer, x, *batch, seeds, **options):
            """Computes a group of the teacher's layers unless the student's layer is sampled; see BertEncoder."""
            *lower, last = self._groups[number]

            # Identities: compiled blocks keep the input for their gradient, and a branch can only keep its own tensors.
            def compute_group():
                y = tf.identity(x)
                for teacher_layer in lower:
                    y = teacher_layer(y, *batch)
                return last(y, *batch, **options)

            return tf.cond(uses_student[number], lambda: compute(
                number, layer, tf.identity(x), *batch, seeds=seeds, **options), compute_group)

        vars(encoder)["compute_layer"] = compute_layer  # Keras does not track it.
        try:
            return self._student(features, training=True)
        finally:
            del vars(encoder)["compute_layer"]
