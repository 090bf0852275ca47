"""Words and labels in the files of tools, which are read as columns."""

import gzip
import json

import pytest

from data_prep.datasets import conll
from tests.conftest import REFERENCE
from tests.errors import Message, raises_message

FOLDER = REFERENCE / "tables"


def read(path, label_column=-1):
    sentences = conll.read_sentences(str(path), 0, label_column)
    return sentences.words, sentences.labels


def test_lists_of_words_and_numbers():
    words, labels = read(FOLDER / "ner_datasets.jsonl")
    assert (words[0], labels[0], len(words)) == (
        ["Anna", "lives", "in", "Rome"],
        ["1", "0", "0", "3"],
        10,
    )


def test_parquet_has_the_names_of_labels():
    assert read(FOLDER / "datasets_tags.parquet") == (
        [["Anna", "Berg", "left"], ["Rain"]],
        [["B-PER", "I-PER", "O"], ["O"]],
    )


def test_labels_and_words_with_spaces_and_a_file_without_labels(write, tmp_path):
    lines = (
        '{"tokens": ["New York", "is"], "tags": ["B-big city", "O"]}\n{"tokens": [], "tags": []}\n'
    )
    path = write("a.json.gz", gzip.compress(lines.encode(), mtime=0))
    assert read(path) == ([["New York", "is"]], [["B-big city", "O"]])
    sentences = conll.read_sentences(path)
    conll.write_tags(str(tmp_path / "out.txt"), sentences, [["O", "O"]])
    assert (tmp_path / "out.txt").read_text().startswith("New York\tB-big city\tO\nis\tO\tO\n\n")
    words = write("b.jsonl", '{"tokens": ["New York", "is"]}\n')
    assert read(words, None) == ([["New\u00a0York", "is"]], None)


@pytest.mark.parametrize(
    "spans",
    [
        {"label": [[0, 10, "PER"], [20, 24, "LOC"]]},
        {"entities": [{"start_offset": 20, "end_offset": 24, "label": "LOC"}, [0, 11, "PER"]]},
        {
            "label": [
                {"start": 0, "end": 10, "labels": ["PER"]},
                {"start": 20, "end": 24, "labels": ["LOC"]},
            ]
        },
    ],
)
def test_offsets_are_converted_by_whole_words(write, spans):
    """Of doccano and Label Studio, with white space at the ends of entities."""
    path = write("a.jsonl", {"text": "Anna Berg\u00e9 lives in Rome.", **spans})
    assert read(path) == (
        [["Anna", "Berg\u00e9", "lives", "in", "Rome", "."]],
        [["B-PER", "I-PER", "O", "O", "B-LOC", "O"]],
    )


def test_characters_of_chinese_are_words(write):
    path = write("a.jsonl", {"text": "\u5317\u4eac\u5e02x1", "label": [[0, 2, "LOC"]]})
    assert read(path) == (
        [["\u5317", "\u4eac", "\u5e02", "x1"]],
        [["B-LOC", "I-LOC", "O", "O"]],
    )


def test_the_table_of_kaggle(write):
    """Its first column names the sentence of the first word."""
    path = write(
        "ner_dataset.csv",
        'Sentence #,Word,POS,Tag\nSentence: 1,Anna,NNP,B-per\n,",",",",O\n,"""",``,O\n'
        "Sentence: 2,Rome,NNP,B-geo\n",
    )
    assert read(path) == ([["Anna", ",", '"'], ["Rome"]], [["B-per", "O", "O"], ["B-geo"]])


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (
            {"tokens": ["a", "b"], "tags": ["O"]},
            Message("a.jsonl:1", "has 2 words", "1 labels in tags"),
        ),
        ({"tokens": ["a", " "], "tags": ["O", "O"]}, Message("a.jsonl:1", "word 2 is empty")),
        (
            {"id": 1},
            Message("a.jsonl:1", "has no list of words", "must have one of", "keys tokens"),
        ),
        (
            {"text": "in Rome", "label": [[4, 7, "LOC"]]},
            Message("a.jsonl:1", "the entity 'ome'", "(4 to 7)", "must be whole words", "'Rome'"),
        ),
        (
            {"text": "in Rome", "label": [[0, 7, "X"], [3, 7, "LOC"]]},
            Message(
                "a.jsonl:1", "the entity 'Rome' (3 to 7)", "overlaps another", "remove one of them"
            ),
        ),
        (
            {"text": "in", "label": [[0, 3, "X"]]},
            Message("a.jsonl:1", "the entity [0, 3, 'X']", "must have a start"),
        ),
    ],
)
def test_invalid_objects(write, entry, message):
    with raises_message(message):
        read(write("a.jsonl", json.dumps(entry)))
