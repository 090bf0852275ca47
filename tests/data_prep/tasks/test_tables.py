"""Rows of TSV and CSV files."""

import csv

import pytest

from bert_tf.errors import InputError
from data_prep.tasks import tables


@pytest.mark.parametrize(("name", "separator"), [("long.csv", ","), ("long.tsv", "\t")])
def test_fields_of_any_length(write, name, separator):
    """Python's csv module limits fields to 131,072 characters. The reader changes the limit only while it reads."""
    limit = csv.field_size_limit()
    rows = tables.read_rows(write(name, f"text{separator}label\n{'x' * 3 * limit}{separator}1\n"))
    assert next(rows) == (1, ["text", "label"])
    assert csv.field_size_limit() == limit
    assert [(line, len(text), label) for line, (text, label) in rows] == [(2, 3 * limit, "1")]
    assert csv.field_size_limit() == limit


@pytest.mark.parametrize(("name", "text", "rows"), [
    ("one.tsv", "\ntext\na\n\n \n\n", [(2, ["text"]), (3, ["a"]), (4, [""]), (5, [" "]), (6, [""])]),
    ("one.csv", '\ntext\na\n\n""\n', [(2, ["text"]), (3, ["a"]), (4, [""]), (5, [""])]),
    ("two.tsv", "text\tlabel\n\na\t1\n\n", [(1, ["text", "label"]), (3, ["a", "1"])]),
    ("two.csv", "text,label\n\na,1\n\n", [(1, ["text", "label"]), (3, ["a", "1"])]),
])
def test_an_empty_line_of_a_table_with_one_column_is_an_empty_text(write, name, text, rows):
    assert list(tables.read_rows(write(name, text))) == rows


def test_names_with_spaces_are_quoted(write):
    with pytest.raises(InputError, match=r":1: column 'label' does not exist; must be one of text, ' label', 'a b'$"):
        tables.find_position("label", tables.read_header(write("a.tsv", "text\t label\ta b\n")), "a.tsv")


@pytest.mark.parametrize(("text", "message"), [
    ("text\n".encode("utf-16"), "is UTF-16; save the file as UTF-8"),
    (b"\xfe\xff", "is UTF-16; save the file as UTF-8"),
    (b"text\ra\rb\r", r"its lines end at \\r; save the file with line ends \\n"),
])
def test_files_that_are_not_text(write, text, message):
    with pytest.raises(InputError, match=rf"^/.*/a\.tsv: {message}$"):
        list(tables.read_rows(write("a.tsv", text)))


@pytest.mark.parametrize(("text", "message"), [
    ('text,label\na,"open\n', r"bad\.csv:2: unexpected end of data"), ('"a" b,c\n', r"bad\.csv:1: ',' expected after")])
def test_invalid_quotes(write, text, message):
    limit = csv.field_size_limit()
    with pytest.raises(InputError, match=message):
        list(tables.read_rows(write("bad.csv", text)))
    assert csv.field_size_limit() == limit
