"""The kinds of tasks, by their names in task.json. Does not import TensorFlow.

Each kind has a package with its modules:

    task.py    KINDS: what the kind is: its inputs, answers, and labels
    graph.py   SERVABLES: its answers in TensorFlow, for checkpoints and SavedModels
    plain.py   ANSWERS: the same answers without TensorFlow, for LiteRT files

    served = SERVABLES[metadata.kind]
    servable = served(served.create_model(BertEncoder(config), metadata), tokenizer, metadata)
    saved_model.save(servable, "serving/reviews")
"""

from bert_tf.tasks.classifier.task import Classifier
from bert_tf.tasks.encoder.task import Encoder
from bert_tf.tasks.kind import Kind
from bert_tf.tasks.masked_lm.task import MaskedLM
from bert_tf.tasks.multiple_choice.task import MultipleChoice
from bert_tf.tasks.registry import Registry
from bert_tf.tasks.span_labeler.task import SpanLabeler
from bert_tf.tasks.token_classifier.task import TokenClassifier

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

SERVABLES = Registry(
    __name__,
    {
        "classifier": "ServedClassifier",
        "token_classifier": "ServedTokenClassifier",
        "span_labeler": "ServedSpanLabeler",
        "multiple_choice": "ServedMultipleChoice",
        "encoder": "ServedEncoder",
        "masked_lm": "ServedMaskedLM",
    },
    module="graph",
)
ANSWERS = Registry(__name__, dict.fromkeys(KINDS, "answer"), module="plain")

__all__ = [
    "ANSWERS",
    "KINDS",
    "SERVABLES",
    "UNTRAINED_KINDS",
    "Classifier",
    "Encoder",
    "Kind",
    "MaskedLM",
    "MultipleChoice",
    "SpanLabeler",
    "TokenClassifier",
]
