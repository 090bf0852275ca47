"""A label, several labels, or a number for a text or a pair of texts."""

from bert_tf.tasks.base import Kind


class Classifier(Kind):
    """Sentence and sentence pair classification and regression (section 4.1 of the paper)."""

    name = "classifier"
    hugging_face = ("BertForSequenceClassification",)
    card_fields = frozenset({"labels", "pairs", "multi_label", "window_pooling", "window_stride", "max_windows"})
    may_give_number = True
    signature = frozenset({"label", "has_label", "value"})
