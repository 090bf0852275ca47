"""Published layouts of GLUE, XNLI, and SICK."""

import dataclasses
from typing import NamedTuple

import numpy as np
import pytest

from bert_tf.errors import InputError
from data_prep.datasets import published, reader
from tests.errors import Message, raises_message, rejects


def row(*fields):
    return "\t".join(fields) + "\n"


NLI_ROW = "7|p|q|genre|bp|bp|sp|sp|a b|c d"
XNLI_ROW = ["bp", "bp", "sp", "sp", "a b", "c d", "9"]


class Columns(NamedTuple):
    """The columns of Examples."""

    text_a: list
    text_b: list | None
    labels: list | None
    guids: list


@dataclasses.dataclass(frozen=True)
class Published:
    """Files of a published dataset. "|" stands for a tab, and the test adds the headers.

    Attributes:
      file: str. Name of a labeled file.
      rows: List of str. The rows of that file.
      expected: Columns of these rows.
      test_row: str. The row of the file to predict.
      expected_test: Columns of that row.
    """

    file: str
    rows: list
    expected: Columns
    test_row: str
    expected_test: Columns


LAYOUTS = {
    "cola": Published(
        file="train.tsv",
        rows=["gj04|1||a b", "gj04|0|*|a c"],
        expected=Columns(["a b", "a c"], None, [1, 0], ["train-0", "train-1"]),
        test_row="5|d e",
        expected_test=Columns(["d e"], None, None, ["test-5"]),
    ),
    "sst-2": Published(
        file="dev.tsv",
        rows=['a "b |1'],
        expected=Columns(['a "b '], None, [1], ["dev-1"]),
        test_row="3|d",
        expected_test=Columns(["d"], None, None, ["test-3"]),
    ),
    "mrpc": Published(
        file="dev.tsv",
        rows=["0|8|9|a|b"],
        expected=Columns(["a"], ["b"], [0], ["dev-1"]),
        test_row="4|8|9|c|d",
        expected_test=Columns(["c"], ["d"], None, ["test-4"]),
    ),
    "sts-b": Published(
        file="dev.tsv",
        rows=["6|g|f|y|o|s|s|a|b|3.250"],
        expected=Columns(["a"], ["b"], [3.25], ["dev-6"]),
        test_row="2|g|f|y|o|s|s|c|d",
        expected_test=Columns(["c"], ["d"], None, ["test-2"]),
    ),
    "qqp": Published(
        file="train.tsv",
        rows=["3|1|2|a|b|1"],
        expected=Columns(["a"], ["b"], [1], ["train-3"]),
        test_row="8|c|d",
        expected_test=Columns(["c"], ["d"], None, ["test-8"]),
    ),
    "mnli": Published(
        file="dev_matched.tsv",
        rows=[f"{NLI_ROW}|neutral|entailment"],
        expected=Columns(["a b"], ["c d"], [1], ["dev-7"]),
        test_row=NLI_ROW,
        expected_test=Columns(["a b"], ["c d"], None, ["test-7"]),
    ),
    "mnli-mm": Published(
        file="dev_mismatched.tsv",
        rows=[f"{NLI_ROW}|1|2|3|4|5|contradiction"],
        expected=Columns(["a b"], ["c d"], [0], ["dev-7"]),
        test_row=NLI_ROW,
        expected_test=Columns(["a b"], ["c d"], None, ["test-7"]),
    ),
    "qnli": Published(
        file="dev.tsv",
        rows=["2|a|b|not_entailment"],
        expected=Columns(["a"], ["b"], [1], ["dev-2"]),
        test_row="0|c|d",
        expected_test=Columns(["c"], ["d"], None, ["test-0"]),
    ),
    "rte": Published(
        file="train.tsv",
        rows=["4|a|b|entailment"],
        expected=Columns(["a"], ["b"], [0], ["train-4"]),
        test_row="1|c|d",
        expected_test=Columns(["c"], ["d"], None, ["test-1"]),
    ),
    "wnli": Published(
        file="train.tsv",
        rows=["9|a|b|1"],
        expected=Columns(["a"], ["b"], [1], ["train-9"]),
        test_row="6|c|d",
        expected_test=Columns(["c"], ["d"], None, ["test-6"]),
    ),
}
TEST_FILES = {"mnli": "test_matched.tsv", "mnli-mm": "test_mismatched.tsv"}


@pytest.mark.parametrize("name", sorted({*published.DATASETS} - {"xnli", "ax", "sick_e", "sick_r"}))
def test_published_layouts(tmp_path, write, name):
    layout = LAYOUTS[name]
    dataset = published.find_dataset(name.upper())
    header = [] if name == "cola" else ["header"]
    write(layout.file, "\n".join([*header, *layout.rows]).replace("|", "\t"))
    split = layout.file.removesuffix(".tsv").split("_")[0]
    examples = reader.read_split(dataset, str(tmp_path), split)
    assert examples.labels.dtype == (np.float32 if dataset.regression else np.int32)
    assert get_columns(examples) == layout.expected

    write(TEST_FILES.get(name, "test.tsv"), f"header\n{layout.test_row}".replace("|", "\t"))
    examples = reader.read_split(dataset, str(tmp_path), "test")
    assert get_columns(examples) == layout.expected_test


def get_columns(examples):
    """Returns the Columns of Examples."""
    labels = None if examples.labels is None else examples.labels.tolist()
    return Columns(examples.text_a, examples.text_b, labels, examples.guids)


def test_diagnostic_data_is_only_predicted(tmp_path, write):
    write(
        "diagnostic.tsv",
        row("index", "sentence1", "sentence2") + row("0", "a", "b") + row("1", "c", "d"),
    )
    examples = reader.read_split(published.find_dataset("AX"), str(tmp_path), "test")
    assert (examples.text_a, examples.text_b, examples.labels) == (["a", "c"], ["b", "d"], None)
    assert examples.guids == ["test-0", "test-1"]
    with rejects(None, "task ax has no split 'train'", "must be one of test"):
        reader.read_split(published.DATASETS["ax"], str(tmp_path), "train")


def test_xnli_reads_one_language(tmp_path, write):
    write(
        "multinli/multinli.train.zh.tsv",
        row("premise", "hypo", "label") + row("a", "b", "contradictory") + row("c", "d", "neutral"),
    )
    write(
        "xnli.dev.tsv",
        row(*["header"] * 9) + row("de", "neutral", *XNLI_ROW) + row("zh", "entailment", *XNLI_ROW),
    )
    dataset = published.DATASETS["xnli"]
    train = reader.read_split(dataset, str(tmp_path), "train")
    assert (train.text_a, train.text_b, train.labels.tolist()) == (["a", "c"], ["b", "d"], [0, 2])
    dev = reader.read_split(dataset, str(tmp_path), "dev")
    assert (dev.text_a, dev.labels.tolist(), dev.guids) == (["a b"], [1], ["dev-2"])
    assert reader.read_split(published.create_xnli("de"), str(tmp_path), "dev").labels.tolist() == [
        2
    ]
    with pytest.raises(InputError, match=r"contains no multinli/multinli\.train\.ur\.tsv; "):
        reader.read_split(published.create_xnli("ur"), str(tmp_path), "train")
    with rejects("xnli.dev.tsv", "contains no rows with 'ur'", end="in column 1"):
        reader.read_split(published.create_xnli("ur"), str(tmp_path), "dev")


class SickRow(NamedTuple):
    """The columns of a row of SICK that are read; all are str."""

    number: str
    text_a: str
    text_b: str
    entailment: str
    score: str
    split: str


def test_sick_in_one_file(tmp_path, write):
    rows = [
        SickRow(
            number="1", text_a="a b", text_b="c", entailment="NEUTRAL", score="4.5", split="TRAIN"
        ),
        SickRow(
            number="4", text_a="d", text_b="e", entailment="ENTAILMENT", score="2", split="TRIAL"
        ),
        SickRow(
            number="6",
            text_a="e",
            text_b="f",
            entailment="CONTRADICTION",
            score="1.2",
            split="TEST",
        ),
        SickRow(
            number="9", text_a="f", text_b="a", entailment="CONTRADICTION", score="3", split="TRAIN"
        ),
    ]
    header = row(
        "pair_ID",
        "sentence_A",
        "sentence_B",
        "entailment_label",
        "relatedness_score",
        *"abcdef",
        "set",
    )
    write("SICK.txt", header + "".join(row(*fields, *"123456", part) for *fields, part in rows))
    write("SICK_train.txt", "another format\n")
    read = lambda name, split: reader.read_split(
        published.create_sick(name, str(tmp_path)), str(tmp_path), split
    )
    train = read("sick_e", "train")
    assert (train.text_a, train.text_b, train.guids) == (
        ["a b", "f"],
        ["c", "a"],
        ["train-1", "train-9"],
    )
    assert [train.labels.tolist(), read("sick_e", "dev").labels.tolist()] == [[2, 0], [1]]
    assert [read("sick_r", split).labels.tolist() for split in ("train", "dev")] == [
        [4.5, 3.0],
        [2.0],
    ]
    assert [read("sick_r", "test").text_a, read("sick_r", "test").labels] == [["e"], None]
    write("SICK.txt", header + row("1", "a", "b", "NEUTRAL", "4.5", *"123456", "TRAIN"))
    with rejects("SICK.txt", "contains no rows with 'TRIAL'", end="in column 12"):
        read("sick_r", "dev")


def test_only_line_feeds_end_lines(tmp_path, write):
    write("train.tsv", "\ufeffsentence\tlabel\r\na\u2028b\x85c\rd\t1\r\n\ne\t0")
    examples = reader.read_split(published.DATASETS["sst-2"], str(tmp_path), "train")
    assert examples.text_a == ["a\u2028b\x85c\rd", "e"]
    assert examples.labels.tolist() == [1, 0]


def test_faulty_lines_are_counted(tmp_path, write):
    write(
        "train.tsv",
        row(*["h"] * 6)
        + row("3", "1", "2", "a")
        + row("4", "1", "2", "a", "", "0")
        + row("5", "1", "2", " ", "b", "0"),
    )
    examples = reader.read_split(published.DATASETS["qqp"], str(tmp_path), "train")
    assert (len(examples), examples.num_broken, examples.num_empty) == (2, 1, 2)
    write("train.tsv", b"\xef\xbb\xbfsentence\tlabel\ncaf\xe9\t1\ntea\t0\n")
    examples = reader.read_split(published.DATASETS["sst-2"], str(tmp_path), "train")
    assert (examples.text_a, examples.labels.tolist(), examples.num_garbled) == (
        ["caf", "tea"],
        [1, 0],
        1,
    )


@pytest.mark.parametrize(
    ("task", "text", "message"),
    [
        (
            "mrpc",
            row(*["h"] * 5) + row("1", "2", "3", "only one text"),
            Message("train.tsv:2", "must have at least 5 columns", "has 4"),
        ),
        (
            "mrpc",
            row(*["h"] * 5) + row("1", "2", "3", "a", "b") + row("yes", "2", "3", "a", "b"),
            Message("train.tsv:3", "unknown label 'yes'", "must be one of 0, 1"),
        ),
        (
            "sts-b",
            row(*["h"] * 10) + row(*["x"] * 9, "high"),
            Message("train.tsv:2", "label 'high'", "must be a number"),
        ),
        (
            "sts-b",
            row(*["h"] * 10) + row(*["x"] * 9, "1e39"),
            Message("train.tsv:2", "label '1e39'", "must be a number"),
        ),
        ("mrpc", row(*["h"] * 5), Message("train.tsv", "contains no rows")),
    ],
)
def test_invalid_rows(tmp_path, write, task, text, message):
    write("train.tsv", text)
    with raises_message(message):
        reader.read_split(published.DATASETS[task], str(tmp_path), "train")


def test_names_of_tasks():
    with rejects("task_name", "must be one of cola", "sst-2", "mrpc", value="mprc"):
        published.find_dataset("mprc")
    assert published.find_dataset("STSB") is published.DATASETS["sts-b"]
    assert published.find_dataset("SICK-E") is published.DATASETS["sick_e"]
