"""Hooks, with which training techniques change how a layer multiplies by its matrix.

The layers are Projection, LinearHead, and Embeddings:

    attach(layer, hook)

The hook has an effect until `detach(layer, hook)`. Functions that are traced until then keep it.
"""

from bert_tf.errors import InputError


class Hook:
    """Changes how a layer multiplies by its matrix. By default, no method changes anything."""

    def product(self, x, kernel, multiply):
        """Returns x [T, HI] or [B, S, HI] times kernel [HI, HO].

        `multiply` applies the hooks attached before this.
        """
        return multiply(x, kernel)

    def rows(self, rows, table):
        """Returns the replacement of rows [..., H], looked up in table [V, H]."""
        del table
        return rows

    def kernel(self, kernel):
        """Returns one kernel [HI, HO] whose plain product equals `product`.

        Raises:
          InputError: If no such kernel exists.
        """
        raise InputError(
            f"{type(self).__name__} cannot be used with attention in its form for TPUs"
        )


def attach(layer, hook):
    """Adds a hook to a layer, around the hooks that it already has. Keras does not track it."""
    vars(layer)["hooks"] = (*layer.hooks, hook)


def detach(layer, hook):
    """Removes a hook from a layer; does nothing if the layer does not have it."""
    vars(layer)["hooks"] = tuple(each for each in layer.hooks if each is not hook)
