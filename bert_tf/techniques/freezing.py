"""Freezes layers of an encoder."""

from bert_tf.errors import InputError


def freeze(encoder, num_layers):
    """Freezes the embeddings and the `num_layers` lowest layers of a BertEncoder.

    Call this before anything is traced. The forward pass is unchanged, including dropout. The
    variables are no longer `trainable_variables`, and the backward pass ends above them by
    `tf.stop_gradient`, also if a caller sets `trainable` again; frozen variables would not end
    it. `encoder.num_frozen_layers = None` undoes the freezing.

    Raises:
      InputError: If a layer to train shares its weights with one of them.
    """
    frozen = encoder.encoder_layers[:num_layers]
    others = encoder.encoder_layers[num_layers:]
    if any(layer is other for layer in frozen for other in others):
        raise InputError(
            "the model's layers share weights; set 0 to freeze only the embeddings",
            "freeze_layers",
            num_layers,
        )
    encoder.num_frozen_layers = num_layers
    for layer in (encoder.embeddings, *frozen):
        layer.trainable = False
