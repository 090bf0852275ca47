"""Saves the objects of this package with Keras: as the arguments of their constructors.

A class with one of these bases is registered with Keras under the package "bert_tf". `get_config` returns plain values,
and `from_config` creates an equal object from them. The weights of a layer are created on construction.
"""

import functools
import inspect

import tensorflow as tf
import tf_keras

from bert_tf.config import BertConfig
from bert_tf.errors import InputError

OURS = "bert_tf."  # Prefix of the module names of this package.

_register = tf_keras.saving.register_keras_serializable(package="bert_tf")
_register(BertConfig)


def to_plain(value):
    """Returns an argument as a plain value: an object with a config is converted to Keras's file format."""
    if isinstance(value, list | tuple):
        return [to_plain(each) for each in value]
    if not isinstance(value, SavedObject | BertConfig):
        return value
    return {"module": type(value).__module__, "class_name": type(value).__name__, "config": value.get_config(),
            "registered_name": tf_keras.saving.get_registered_name(type(value))}


def to_object(value):
    """Restores the object from the result of `to_plain`."""
    if not isinstance(value, dict) or not {"class_name", "config"} <= value.keys():
        return value
    name = value.get("registered_name")
    if tf_keras.saving.get_registered_object(name) is not None:
        value = {**value, "class_name": name}  # Keras looks for this name when it reads a SavedModel.
    return tf_keras.saving.deserialize_keras_object(value)


class SavedObject:
    """An object whose config is the arguments of its constructor."""

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        if cls.__module__.startswith(OURS):
            _register(cls)
        if "__init__" in vars(cls):
            cls.__init__ = _recording(cls.__init__)

    def get_config(self):
        """Returns the arguments of the constructor as a dict of plain values."""
        return dict(vars(self).get("_arguments", {}))

    @classmethod
    def from_config(cls, config):
        """Creates an object from the result of `get_config`."""
        return cls(**{name: to_object(value) for name, value in config.items()})

    def _finish_construction(self):
        """Called after the object's constructor returns."""


class SavedLayer(SavedObject):
    """A layer or model whose config is the arguments of its constructor, its name, dtype, and frozen layers.

    Hooks and replaced weights belong to training or to one request. A layer with such changes cannot be saved.
    """

    def get_config(self):
        """Returns a dict of plain values.

        Raises:
          InputError: If hooks are attached to the layer or to one inside it, or if their weights are replaced.
        """
        self._check_is_plain()
        config, layers = super().get_config(), self._saved_layers()
        attributes = {"name": self.name, "dtype": self.dtype_policy.name}
        config |= {name: value for name, value in attributes.items() if name in config}
        frozen = [number for number, layer in enumerate(layers) if not layer.trainable]
        return {**config, "frozen_layers": frozen}

    @classmethod
    def from_config(cls, config):
        """Creates a layer with newly initialized weights from the result of `get_config`."""
        frozen = config.get("frozen_layers", ())
        layer = super().from_config({name: value for name, value in config.items() if name != "frozen_layers"})
        for number, each in enumerate(layer._saved_layers()):
            each.trainable = number not in frozen  # Also sets the layers inside it, which follow.
        return layer

    def build_from_config(self, config):
        """Makes a user's subclass create its weights by a call with int32 features. Keras would pass floats."""
        self.call({name: tf.zeros([size or 1 for size in shape], tf.int32)
                   for name, shape in config["input_shape"].items()})
        self.built = True

    @property
    def _must_restore_from_config(self):
        """Flag of Keras: whether a SavedModel contains only the config of this layer, not the functions of its calls.

        The arguments of this project's layers are not all tensors, and an encoder within a task model is not always
        called.
        """
        return not isinstance(self, tf_keras.Model) or self.save_spec() is None

    def _trackable_children(self, save_type="checkpoint", **kwargs):
        """Called by TensorFlow when it saves."""
        if save_type == "savedmodel":
            self._check_is_plain()
        return super()._trackable_children(save_type, **kwargs)

    def _saved_layers(self):
        """Returns this layer and those inside it, outer layers first."""
        return [self, *(layer for layer in self.submodules if isinstance(layer, SavedLayer))]

    def _finish_construction(self):
        vars(self)["_first_hooks"] = getattr(self, "hooks", ())
        vars(self)["_num_weights"] = len(self.weights)
        self.built = type(self).__module__.startswith(OURS)  # A user's subclass can have more to build.

    def _check_is_plain(self):
        for layer in reversed(self._saved_layers()):
            layer._check_itself()

    def _check_itself(self):
        hooks = [hook for hook in getattr(self, "hooks", ()) if hook not in vars(self)["_first_hooks"]]
        if hooks:
            hook = hooks[0].func if isinstance(hooks[0], functools.partial) else hooks[0]
            name = getattr(hook, "__name__", type(hook).__name__)
            raise InputError(f"layer {self.name!r} has the hook {name}, which cannot be saved; detach it first")
        if any(isinstance(child, tf.Variable) and vars(self).get(name, child) is not child
               for name, child in self._trackable_children().items()):
            raise InputError(f"layer {self.name!r} has replaced weights, which cannot be saved; restore the "
                             "original weights first")
        if type(self).__module__.startswith(OURS) and len(self.weights) != vars(self)["_num_weights"]:
            raise InputError(f"layer {self.name!r} has weights that its constructor does not create, such as adapters, "
                             "which cannot be saved")


def _recording(init):
    """Wraps a constructor to record its arguments, unless a subclass's constructor called it."""
    signature = inspect.signature(init)

    @functools.wraps(init)
    def construct(self, *args, **kwargs):
        if "_arguments" in vars(self):
            init(self, *args, **kwargs)
            return
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        # Bypasses Keras, which would track them. Layers save themselves.
        vars(self)["_arguments"] = {name: to_plain(value) for name, value in list(bound.arguments.items())[1:]
                                    if not isinstance(value, tf_keras.layers.Layer)}
        init(self, *args, **kwargs)
        self._finish_construction()
    return construct
