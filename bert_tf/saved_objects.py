"""Saves models with Keras, in `.keras` files and SavedModels, as the arguments of their constructors."""

import tensorflow as tf
import tf_keras

from bert_tf.errors import InputError

OURS = "bert_tf."  # Prefix of the module names of this package.

register = tf_keras.saving.register_keras_serializable(package="bert_tf")  # Decorator of classes and functions.


class SavedLayer:
    """A base class of layers that create their weights on construction; their model's config restores them.

    Attributes:
      hooks: Tuple of Hook, which change how the layer multiplies by its matrix; see bert_tf.techniques.hooks.
    """

    hooks = ()
    # Read by Keras: a SavedModel contains no functions of their calls, whose arguments are not all tensors.
    _must_restore_from_config = True

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.built = True


class SavedModel:
    """A base class of models whose config is the arguments of their constructor, and the frozen layers.

    Hooks and replaced weights belong to training or to one request. A model with such changes cannot be saved.
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.built = type(self).__module__.startswith(OURS)  # A user's subclass can have more to build.

    def get_config(self):
        """Returns the name and the frozen layers, a dict; a subclass adds its other arguments as plain values.

        Raises:
          InputError: If hooks are attached to a layer, or if weights were replaced or added.
        """
        _check_is_plain(self)
        frozen = [number for number, layer in enumerate(_list_layers(self)) if not layer.trainable]
        return {"name": self.name, "frozen_layers": frozen}

    @classmethod
    def from_config(cls, config):
        """Creates a model with newly initialized weights from the result of `get_config`."""
        config = dict(config)
        frozen = config.pop("frozen_layers", ())
        model = cls(**config)
        for number, layer in enumerate(_list_layers(model)):
            layer.trainable = number not in frozen  # Also sets the layers inside it, which follow.
        return model

    def build_from_config(self, config):
        """Makes a user's subclass create its weights by a call with int32 features. Keras would pass floats."""
        self.call({name: tf.zeros([size or 1 for size in shape], tf.int32)
                   for name, shape in config["input_shape"].items()})
        self.built = True

    @property
    def _must_restore_from_config(self):
        """See SavedLayer; an encoder within a task model is not always called."""
        return self.save_spec() is None

    def _trackable_children(self, save_type="checkpoint", **kwargs):
        """Called by TensorFlow when it saves."""
        if save_type == "savedmodel":
            _check_is_plain(self)
        return super()._trackable_children(save_type, **kwargs)


def _list_layers(model):
    """Returns a model and the layers of this package inside it, outer ones first."""
    return [model, *(layer for layer in model.submodules if isinstance(layer, SavedLayer | SavedModel))]


def _check_is_plain(model):
    """Raises InputError if hooks are attached to a layer, or if weights were replaced or added."""
    for layer in reversed(_list_layers(model)):
        has_hooks = any(hook not in vars(layer).get("own_hooks", ()) for hook in getattr(layer, "hooks", ()))
        has_replaced = any(isinstance(child, tf.Variable) and vars(layer).get(name, child) is not child
                           for name, child in layer._trackable_children().items())
        if has_hooks or has_replaced or hasattr(layer, "adapters"):
            raise InputError(f"layer {layer.name!r} has a hook, or other weights than its constructor creates, such as "
                             "adapters, which cannot be saved; remove them first")
