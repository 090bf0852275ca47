"""Features with an axis of choices."""

import pytest

from bert_tf.errors import InputError
from data_prep.tasks.multiple_choice import MultipleChoiceData, MultipleChoiceSettings
from tests.errors import check_message

ARTICLE = {
    "article": "a b",
    "questions": ["What?", "Is __ a _ ?"],
    "options": [["c", "d", "e"], ["f", "g", "a"]],
}


@pytest.fixture(scope="module")
def tokenizer(make_tokenizer):
    return make_tokenizer(*"abcdefg")


@pytest.mark.parametrize("placeholder", ["-1", "", "?"])
def test_answers_of_a_test_file_are_not_read(write, placeholder):
    for name, path in (
        ("swag", write("test.csv", f"sent1,sent2,ending0,ending1,label\na,b,c,d,{placeholder}\n")),
        ("race", write("test.json", {**ARTICLE, "answers": [placeholder, None]})),
    ):
        data = MultipleChoiceData(
            MultipleChoiceSettings(test_file=path, dev_file=path, data_format=name), 8
        )
        assert data.examples("test").labels is None
        with pytest.raises(InputError, match=r"(label|answer) "):
            data.examples("dev")


def test_half_a_surrogate_pair_is_an_unknown_word(write, tokenizer):
    article = {**ARTICLE, "article": "a \ud800", "questions": ["\udfff _", "b _"]}
    path = write("1.json", {**article, "answers": ["A", "A"]})
    features = MultipleChoiceData(
        MultipleChoiceSettings(train_file=path, data_format="race"), 8
    ).read("train", tokenizer)
    cls, unk, sep, a, c = map(tokenizer.vocabulary.index, ["[CLS]", "[UNK]", "[SEP]", "a", "c"])
    assert features["input_ids"][0, 0].tolist() == [cls, a, unk, sep, unk, c, sep, 0]


def test_features_by_hand(write, tokenizer, capsys):
    """Two questions of three choices. The longer text loses its last tokens."""
    rows = (
        b"sent1,sent2,ending0,ending1,ending2,label\na,,b c,d,e,2\na b c d,,e f,f g e f,g\xff,1\n"
    )
    features = MultipleChoiceData(
        MultipleChoiceSettings(train_file=write("train.csv", rows)), 7
    ).read("train", tokenizer)
    cls, sep, a, b, c, d, e, f, g = map(tokenizer.vocabulary.index, ["[CLS]", "[SEP]", *"abcdefg"])
    assert features["input_ids"].tolist() == [
        [[cls, a, sep, b, c, sep, 0], [cls, a, sep, d, sep, 0, 0], [cls, a, sep, e, sep, 0, 0]],
        [[cls, a, b, sep, e, f, sep], [cls, a, b, sep, f, g, sep], [cls, a, b, c, sep, g, sep]],
    ]
    assert features["segment_ids"][:, 0].tolist() == [[0, 0, 0, 1, 1, 1, 0], [0, 0, 0, 0, 1, 1, 1]]
    assert features["label_ids"].tolist() == [2, 1]
    check_message(
        capsys.readouterr().err.splitlines()[-1],
        "train",
        "2 questions with 3 choices each",
        "3 choices are longer than --max_seq_length=7",
        "7 of all 26 tokens",
        "1 line contains bytes",
        "not UTF-8",
    )
