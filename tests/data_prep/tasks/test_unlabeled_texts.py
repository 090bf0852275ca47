"""Files of texts without labels: lines, and tables in any format."""

import json

import pytest

from data_prep.tasks import unlabeled_texts
from tests.conftest import REFERENCE
from tests.errors import Message, raises_message, rejects


@pytest.mark.parametrize("name", ["pandas.csv", "pandas.csv.gz", "pandas.parquet", "polars.ndjson"])
def test_texts_of_tables(name):
    path = str(REFERENCE / "tables" / name)
    texts = ['He said "no",\tso', "a line\nbreak; and more", "café 中文"]
    assert unlabeled_texts.read(path, False) == (texts, None)
    assert unlabeled_texts.read(path, True, "text", "label") == (texts, ["neg", "pos", "neg"])


def test_texts_of_lines(tmp_path):
    (tmp_path / "a.txt").write_text('{ "a" }\n\nb, c\n')
    assert unlabeled_texts.read(str(tmp_path / "a.txt"), False) == (['{ "a" }', "b, c"], None)
    (tmp_path / "a.tsv").write_text("a\tb\nc\td\n")
    assert unlabeled_texts.read(str(tmp_path / "a.tsv"), True) == (["a", "c"], ["b", "d"])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.tsv", "a\tb\nc\n", Message(None, "text 2 has 1 columns", "requires two texts")),
        ("a.csv", "text\na\n", Message(None, "requires two texts", "training data")),
    ],
)
def test_rows_without_two_texts(tmp_path, name, content, message):
    path = str(tmp_path / name)
    (tmp_path / name).write_text(content)
    with raises_message(message, file=f"`unlabeled_file`={path}"):
        unlabeled_texts.read(path, True)


def test_a_column_that_is_not_found(tmp_path):
    (tmp_path / "a.csv").write_text("a,b,c\nd,e,f\n")
    with rejects("a.csv", "texts?", "Name it text", end="the columns are a, b, c"):
        unlabeled_texts.read(str(tmp_path / "a.csv"), False)


def test_a_text_that_is_a_number(tmp_path):
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": {"a": 1}}) + "\n")
    with rejects("a.jsonl:1", "text is {'a': 1}", "must be a string"):
        unlabeled_texts.read(str(tmp_path / "a.jsonl"), False)
