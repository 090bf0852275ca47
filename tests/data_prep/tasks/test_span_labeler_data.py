"""Data of question answering."""

import numpy as np

from data_prep.tasks.span_labeler import SpanLabelerData, SpanLabelerSettings
from tests.errors import rejects

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

QUESTIONS = {
    "data": [
        {
            "paragraphs": [
                {
                    "context": f"a {letter}",
                    "qas": [
                        {
                            "id": letter,
                            "question": "a?",
                            "answers": [{"text": letter, "answer_start": 2}],
                        }
                    ],
                }
                for letter in "bcdefgh"
            ]
        }
    ]
}


def test_reading_and_writing_change_nothing(write, tmp_path, make_tokenizer):
    """The examples keep the order of the file, and records written twice are the same."""
    settings = SpanLabelerSettings(train_file=write("a.json", QUESTIONS), max_query_length=3)
    data = SpanLabelerData(settings, 16)
    tokenizer = make_tokenizer(*"abcdefgh")
    ids = data.read("train", tokenizer)["input_ids"]
    for name in ("1", "2"):
        assert data.write_records(str(tmp_path / name), tokenizer) == 7
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()
    assert "".join(example.qas_id for example in data.examples("train")) == "bcdefgh"
    np.testing.assert_array_equal(data.read("train", tokenizer)["input_ids"], ids)


def test_questions_that_fill_a_row():
    with rejects("max_seq_length", "must be greater than `max_query_length` + 3", value=12):
        SpanLabelerData(SpanLabelerSettings(max_query_length=9), 12).check()
    SpanLabelerData(SpanLabelerSettings(max_query_length=9, doc_stride=1), 13).check()


def test_contexts_without_words(write, make_tokenizer):
    path = write("dev.json", WITHOUT_WORDS)
    data = SpanLabelerData(
        SpanLabelerSettings(predict_file=path, max_query_length=3, doc_stride=2), 16
    )
    with rejects("predict_file", "contains no context with words"):
        data.read("dev", make_tokenizer("where"))
    with rejects("unlabeled_file", "contains no context with words"):
        data.read_unlabeled(path, make_tokenizer("where"))
