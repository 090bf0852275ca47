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


@pytest.mark.parametrize(("text", "message"), [
    ('text,label\na,"open\n', r"bad\.csv:2: unexpected end of data"), ('"a" b,c\n', r"bad\.csv:1: ',' expected after")])
def test_invalid_quotes(write, text, message):
    limit = csv.field_size_limit()
    with pytest.raises(InputError, match=message):
        list(tables.read_rows(write("bad.csv", text)))
    assert csv.field_size_limit() == limit
