"""Opens the model of a job for inference, in any format. Does not import TensorFlow for a LiteRT file."""

from bert_tf.serving.loading import open_export


def open_model(settings):
    """Opens the model of a job.

    Args:
      settings: Resolved AnyModelSettings.

    Returns:
      bert_tf.serving.LoadedModel.

    Raises:
      InputError: If the kind of the model differs from the settings' `task`, if it was exported with fewer candidates
        than `top_k`, or if it is corrupted; see bert_tf.serving.checkpoint.load.
    """
    if settings.exported_model:
        argument, path = settings.exported_model
        top_k = settings.top_k if settings.top_k != type(settings).top_k else None
        return open_export(path, settings.task, top_k, argument)
    settings.check_kind()
    from bert_tf.serving.checkpoint import open_checkpoint

    return open_checkpoint(**settings.checkpoint_to_serve)
