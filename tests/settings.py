"""Settings as a script's job has them."""

from bert_tf.cli import resolution
from bert_tf.model_folder.finding import find


def resolved(settings, given=None, announce=print):
    """`settings` with what lies beside their checkpoint and all paths checked; given: dict of those that are given."""
    return resolution.resolve(settings, given or {}, find(resolution.places_of(settings)), announce)
