"""Rows of TSV, CSV, and JSON lines files."""

import pytest

from data_prep import tables
from tests.errors import Message, raises_message, rejects


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", '\ufefftext,label\n"one, ""two""\nthree",1\nfour,0\n'),
        ("a.csv", 'text;label\n"one, ""two""\nthree";1\nfour;0\n'),
        (
            "a.jsonl",
            '{"text": "one, \\"two\\"\\nthree", "label": 1}\n\n'
            '{"label": 0, "text": "four", "more": 3}\n',
        ),
    ],
)
def test_formats(write, name, content):
    assert [fields for _, fields in tables.read_rows(write(name, content))] == [
        ["text", "label"],
        ['one, "two"\nthree', "1"],
        ["four", "0"],
    ]


def test_long_fields(write):
    """Python's csv module limits fields to 131,072 characters by default."""
    text = "x" * 200_000
    assert list(tables.read_rows(write("long.csv", f"text,label\n{text},1\n")))[1:] == [
        (2, [text, "1"])
    ]


@pytest.mark.parametrize(
    ("name", "text", "rows"),
    [
        (
            "one.tsv",
            "\ntext\na\n\n \n\n",
            [(2, ["text"]), (3, ["a"]), (4, [""]), (5, [" "]), (6, [""])],
        ),
        ("one.csv", '\ntext\na\n\n""\n', [(2, ["text"]), (3, ["a"]), (4, [""]), (5, [""])]),
        ("two.tsv", "text\tlabel\n\na\t1\n\n", [(1, ["text", "label"]), (3, ["a", "1"])]),
        ("two.csv", "text,label\n\na,1\n\n", [(1, ["text", "label"]), (3, ["a", "1"])]),
    ],
)
def test_an_empty_line_of_a_table_with_one_column_is_an_empty_text(write, name, text, rows):
    assert list(tables.read_rows(write(name, text))) == rows


def test_names_with_spaces_are_quoted():
    with rejects("a.tsv:1", "column 'label'", "does not exist", end="one of text, ' label', 'a b'"):
        tables.find_column("label", ["text", " label", "a b"], "a.tsv")


def test_files_that_are_not_text(write):
    with rejects("a.tsv", "is UTF-16", "save the file as UTF-8"):
        list(tables.read_rows(write("a.tsv", "text\n".encode("utf-16"))))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", 'text,label\na,"open\n', Message("a.csv:2", "unexpected end of data")),
        ("a.jsonl", '{"text": "a"\n', Message("a.jsonl:1", "must be a JSON object")),
        (
            "a.jsonl",
            '{"text": "a", "label": 1}\n{"text": "b"}\n',
            Message("a.jsonl:2", "must be a JSON object", "the keys text, label"),
        ),
    ],
)
def test_invalid_rows(write, name, content, message):
    with raises_message(message):
        list(tables.read_rows(write(name, content)))
