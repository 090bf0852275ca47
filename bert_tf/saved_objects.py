"""The base class of layers, for hooks of techniques and for saving with Keras.

Keras saves layers with the models that construct them.
"""

import tf_keras

# Decorator of classes and functions.
register = tf_keras.saving.register_keras_serializable(package="bert_tf")


def set_untracked(owner, **attributes):
    """Sets attributes of a Keras object without its `__setattr__`.

    That would search the values for variables, wrap dicts and lists, and save what it finds.
    """
    vars(owner).update(attributes)


class SavedLayer:
    """A base class of layers that create their weights on construction.

    Their model's config restores them.

    Attributes:
      hooks: Tuple of Hook, which change how the layer multiplies by its matrix; see
        bert_tf.layers.hooks.
    """

    hooks = ()
    # Keras reads this attribute. With it, a SavedModel contains no functions of the calls of these
    # layers, whose arguments are not all tensors.
    _must_restore_from_config = True

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.built = True
