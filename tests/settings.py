"""Settings as the job of a script receives them."""

from bert_tf.cli import resolution
from bert_tf.cli.model_files import ModelFiles


def resolved(settings, given=None, announce=print):
    """Returns settings with the values from the directory of their checkpoint; checks all paths.

    Args:
      settings: Settings.
      given: Dict of the explicit flags. Defaults to the settings that differ from their defaults.
      announce: Function that prints a note.
    """
    if given is None:
        given = {field.name: value for field, value in settings.fields() if value != field.default}
    return resolution.resolve(
        settings, given, ModelFiles(resolution.find_model_paths(settings)), announce
    )
