"""Rows of TSV and CSV files."""

import csv

import pytest

from bert_tf.errors import InputError
from data_prep.tasks import tables


def test_a_quote_that_does_not_close(tmp_path):
    (tmp_path / "bad.csv").write_text('text,label\na,"open\n')
    with pytest.raises(InputError, match=r"bad\.csv:2: unexpected end of data"):
        list(tables.read_rows(str(tmp_path / "bad.csv")))


@pytest.mark.parametrize("name", ["long.csv", "long.tsv"])
def test_a_field_of_any_length(tmp_path, name):
    """Python's csv refuses one of over 131,072 characters, unless told otherwise for the whole process."""
    limit = csv.field_size_limit()
    length = 3 * limit
    separator = "," if name.endswith("csv") else "\t"
    (tmp_path / name).write_text(f"text{separator}label\n{'x' * length}{separator}1\n")

    rows = tables.read_rows(str(tmp_path / name))

    assert next(rows) == (1, ["text", "label"])
    assert csv.field_size_limit() == limit  # other readers are not affected while this one waits
    assert [(line, len(text), label) for line, (text, label) in rows] == [(2, length, "1")]
    assert csv.field_size_limit() == limit


def test_the_limit_of_others_is_restored_after_an_error(tmp_path):
    limit = csv.field_size_limit()
    (tmp_path / "bad.csv").write_text('"a" b,c\n')
    with pytest.raises(InputError, match=r"bad\.csv:1: ',' expected after '\"'"):
        list(tables.read_rows(str(tmp_path / "bad.csv")))
    assert csv.field_size_limit() == limit
