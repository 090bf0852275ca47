"""Files of SWAG and RACE."""

import pytest

from bert_tf.errors import InputError
from data_prep.datasets import multiple_choice
from tests.errors import Message, raises_message

SWAG_HEADER = (
    ",video-id,fold-ind,startphrase,sent1,sent2,gold-source,ending0,ending1,ending2,ending3"
)


def article(**fields):
    """A RACE article of two questions, without fields that are None."""
    fields = {
        "article": "a b",
        "questions": ["What?", "Is __ a _ ?"],
        "options": [["c", "d", "e"], ["f", "g", "a"]],
        "answers": ["C", "A"],
        "id": "high1.txt",
        **fields,
    }
    return {name: value for name, value in fields.items() if value is not None}


def test_swag(write):
    path = write(
        "train.csv",
        f"{SWAG_HEADER},label\n"
        "7,v_1,18,He opens a box. He,He opens a box.,He,gold,"
        '"takes a ring, smiling",sings,flies,leaves,2\n'
        '9,v_2,19,"She ""ran"". She","She ""ran"".",She,gen,a,b,c,,0\n',
    )
    questions = multiple_choice.read_swag(path)
    assert questions.guids == ["7", "9"]
    assert questions.text_a == ["He opens a box.", 'She "ran".']
    assert questions.text_b == [
        ["He takes a ring, smiling", "He sings", "He flies", "He leaves"],
        ["She a", "She b", "She c", "She"],
    ]
    assert questions.labels.tolist() == [2, 0]
    assert (
        multiple_choice.read_swag(
            write("test.csv", f"{SWAG_HEADER}\n0,v,1,x,a,b,gold,c,d,e,f\n")
        ).labels
        is None
    )


def test_endings_are_in_the_order_of_their_numbers(write):
    header = ",".join(["sent2", "sent1", *(f"ending{number}" for number in (10, *range(10)))])
    questions = multiple_choice.read_swag(
        write("own.csv", header + "\nb,a," + ",".join("kabcdefghij") + "\n")
    )
    assert questions.text_b == [[f"b {letter}" for letter in "abcdefghijk"]]
    assert questions.guids == ["0"]


def test_race(write, tmp_path):
    write("train/middle/2.txt", article(id="middle2.txt"))
    write("train/high/1.json", article(answers=["B", "B"]))
    write("train/readme.md", "not an article")
    questions = multiple_choice.read_race(str(tmp_path / "train"))
    assert questions.guids == ["high1.txt-0", "high1.txt-1", "middle2.txt-0", "middle2.txt-1"]
    assert questions.text_a == ["a b"] * 4
    assert questions.text_b[:2] == [
        ["What? c", "What? d", "What? e"],
        ["Is f a _ ?", "Is g a _ ?", "Is a a _ ?"],
    ]
    assert questions.labels.tolist() == [1, 1, 2, 0]
    write("train/middle/3.json", article(answers=None))
    assert multiple_choice.read_race(str(tmp_path / "train")).labels is None


@pytest.mark.parametrize(
    ("header", "row", "message"),
    [
        (
            f"{SWAG_HEADER},label",
            "0,v,1,x,a,b,gold,c,d,e,f,4",
            Message("x.csv:2", "label '4'", "the number of an ending", "0 to 3"),
        ),
        (
            SWAG_HEADER,
            "0,v,1,x,a,b,gold,c,d,e",
            Message("x.csv:2", "must have 11 columns", "has 10"),
        ),
        (
            "sent1,ending0,ending1",
            "a,b,c",
            Message("x.csv:1", "column 'sent2' does not exist", "must be one of sent1, ending0"),
        ),
        (
            "sent1,sent2,ending0",
            "a,b,c",
            Message("x.csv:1", "columns ending0, ending1, ... are required"),
        ),
        (SWAG_HEADER, "", Message("x.csv", "contains no questions")),
    ],
)
def test_invalid_swag(write, header, row, message):
    with raises_message(message):
        multiple_choice.read_swag(write("x.csv", f"{header}\n{row}\n"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            article(answers=["A", "D"]),
            Message("2.txt", "2.txt, question 2", "answer 'D'", "one of A, B, C"),
        ),
        (
            article(options=[["c", "d", "e"], ["f", "g"]]),
            Message("2.txt", "2.txt, question 2", "must have 3 options", "has 2"),
        ),
        (
            article(options=[["c", "d", "e"], "fga"]),
            Message("2.txt", "2.txt, question 2", "the question must be a string"),
        ),
        (
            article(answers=["A"]),
            Message("2.txt", "must have 2 answers", "one per question", "has 1"),
        ),
        (
            {"article": "a"},
            Message("2.txt", "must be an object", "article (a string)", "questions, and options"),
        ),
        (article(answers=5), Message("2.txt", "answers must be a list")),
    ],
)
def test_invalid_race(write, tmp_path, content, message):
    write("race/1.txt", article())
    write("race/2.txt", content)
    with raises_message(message):
        multiple_choice.read_race(str(tmp_path / "race"))


def test_race_without_questions(write, tmp_path):
    with pytest.raises(InputError, match=r"contains no \.json or \.txt"):
        multiple_choice.read_race(str(tmp_path))
    with pytest.raises(InputError, match="contains no questions"):
        multiple_choice.read_race(write("1.txt", article(questions=[], options=[], answers=[])))


def test_half_a_surrogate_pair(write):
    path = write("1.json", article(article="a \ud800", questions=["\udfff _", "b _"], id="\ud83d"))
    questions = multiple_choice.read_race(path)
    assert "".join([*questions.guids, *questions.text_a]).encode().decode().count("\U0010ffff") == 4
