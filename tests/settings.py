"""Settings as a script's job has them."""

from bert_tf.cli import resolution
from bert_tf.model_folder.finding import find


def resolved(settings, given=None, announce=print):
    """`settings` with what lies beside their checkpoint and all paths checked.

    given: dict of those that the command line gives; None for all that are not their defaults.
    """
    if given is None:
        given = {field.name: value for field, value in settings.fields() if value != field.default}
    return resolution.resolve(settings, given, find(resolution.places_of(settings)), announce)
