"""Data of question answering."""

import pytest

from bert_tf.errors import InputError
from data_prep.tasks.span_labeler import SpanLabelerData, SpanLabelerSettings

WITHOUT_WORDS = {
    "data": [
        {
            "title": "t",
            "paragraphs": [
                {"context": " ", "qas": [{"id": "1", "question": "where?", "answers": []}]}
            ],
        }
    ]
}


def test_questions_that_fill_a_row():
    with pytest.raises(
        InputError,
        match=r"^`max_seq_length`=12: must be greater than `max_query_length` \+ 3, which",
    ):
        SpanLabelerData(SpanLabelerSettings(max_query_length=9), 12).check()
    SpanLabelerData(SpanLabelerSettings(max_query_length=9, doc_stride=1), 13).check()


def test_contexts_without_words(write, make_tokenizer):
    path = write("dev.json", WITHOUT_WORDS)
    data = SpanLabelerData(
        SpanLabelerSettings(predict_file=path, max_query_length=3, doc_stride=2), 16
    )
    with pytest.raises(InputError, match=r"^`predict_file`=.*: contains no context with words$"):
        data.read("dev", make_tokenizer("where"))
    with pytest.raises(InputError, match=r"^`unlabeled_file`=.*: contains no context with words$"):
        data.read_unlabeled(path, make_tokenizer("where"))
