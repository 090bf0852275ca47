"""The kinds of tasks, by their names in task.json. Does not import TensorFlow."""

from bert_tf.tasks.base import Kind
from bert_tf.tasks.classifier import Classifier
from bert_tf.tasks.encoder import Encoder
from bert_tf.tasks.masked_lm import MaskedLM
from bert_tf.tasks.multiple_choice import MultipleChoice
from bert_tf.tasks.span_labeler import SpanLabeler
from bert_tf.tasks.token_classifier import TokenClassifier

KINDS = {
    kind.name: kind
    for kind in (
        Classifier(),
        TokenClassifier(),
        SpanLabeler(),
        MultipleChoice(),
        Encoder(),
        MaskedLM(),
    )
}
UNTRAINED_KINDS = tuple(name for name, kind in KINDS.items() if not kind.is_fine_tuned)

__all__ = [
    "KINDS",
    "UNTRAINED_KINDS",
    "Classifier",
    "Encoder",
    "Kind",
    "MaskedLM",
    "MultipleChoice",
    "SpanLabeler",
    "TokenClassifier",
]
