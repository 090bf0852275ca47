"""The TensorFlow part of each kind of task, by its name in task.json: model, loss, and served model.

    graph = GRAPHS["classifier"]
    model = graph.model(BertEncoder(config), metadata)
    export.save(graph.servable(model, tokenizer, metadata, ServingOptions()), "serving/reviews")
"""

from bert_tf.tasks.graphs.base import Graph, ServingOptions
from bert_tf.tasks.graphs.classifier import ClassifierGraph, ServedClassifier
from bert_tf.tasks.graphs.encoder import EncoderGraph, ServedEncoder
from bert_tf.tasks.graphs.masked_lm import MaskedLMGraph, ServedMaskedLM
from bert_tf.tasks.graphs.multiple_choice import MultipleChoiceGraph, ServedMultipleChoice
from bert_tf.tasks.graphs.span_labeler import ServedSpanLabeler, SpanLabelerGraph
from bert_tf.tasks.graphs.token_classifier import ServedTokenClassifier, TokenClassifierGraph

GRAPHS = {
    "classifier": ClassifierGraph(),
    "token_classifier": TokenClassifierGraph(),
    "span_labeler": SpanLabelerGraph(),
    "multiple_choice": MultipleChoiceGraph(),
    "encoder": EncoderGraph(),
    "masked_lm": MaskedLMGraph(),
}

__all__ = ["GRAPHS", "Graph", "ServedClassifier", "ServedEncoder", "ServedMaskedLM", "ServedMultipleChoice",
           "ServedSpanLabeler", "ServedTokenClassifier", "ServingOptions"]
