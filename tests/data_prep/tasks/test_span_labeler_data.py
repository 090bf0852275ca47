"""Data of question answering."""

import pytest

from bert_tf.errors import InputError
from data_prep.tasks.span_labeler import Settings, SpanLabelerData

WITHOUT_WORDS = {"data": [{"title": "t", "paragraphs": [{"context": " ", "qas": [
    {"id": "1", "question": "where?", "answers": []}]}]}]}


def test_contexts_without_words(write, make_tokenizer):
    path = write("dev.json", WITHOUT_WORDS)
    data = SpanLabelerData(Settings(predict_file=path, max_query_length=3, doc_stride=2), 16)
    with pytest.raises(InputError, match=r"^`predict_file`=.*: contains no context with words$"):
        data.read("dev", make_tokenizer("where"))
    with pytest.raises(InputError, match=r"^`unlabeled_file`=.*: contains no context with words$"):
        data.read_unlabeled(path, make_tokenizer("where"))
