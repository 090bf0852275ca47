"""Custom tasks: files with a header, their labels, and labels that the training data lacks."""

import pytest

from data_prep.datasets.own_data import create_own_dataset
from data_prep.datasets.reader import read_split
from data_prep.datasets.types import UNKNOWN_LABEL
from tests.errors import Message, raises_message, rejects


def row(*fields):
    return "\t".join(fields) + "\n"


def test_labels_that_the_training_data_lacks(tmp_path, write):
    """They count as misclassified if that is allowed and other rows have known labels.

    Empty labels never are.
    """
    write("train.tsv", "text\tlabel\na\tx\nb\ty\n")
    write("dev.tsv", "text\tlabel\na\ty\nb\tz\n")
    dataset = create_own_dataset(str(tmp_path), "text")
    dev = read_split(dataset, str(tmp_path), "dev", allow_unknown=True)
    assert (dev.labels.tolist(), dev.num_unknown) == ([1, UNKNOWN_LABEL], 1)
    for rows, allow, message in (
        ("a\ty\nb\tz\n", False, Message("dev.tsv:3", "unknown label 'z'", "must be one of x, y")),
        ("a\ty\nb\t \n", True, Message("dev.tsv:3", "unknown label ''")),
        (
            "a\tz\n",
            True,
            Message("dev.tsv", "none of the labels x, y", "check the label column"),
        ),
    ):
        write("dev.tsv", f"text\tlabel\n{rows}")
        with raises_message(message):
            read_split(dataset, str(tmp_path), "dev", allow_unknown=allow)


def test_several_labels_of_which_the_training_data_lacks_some(tmp_path, write):
    """They are an additional column, which no prediction has."""
    write("train.tsv", "text\tlabel\na\tx, y\nb\t\n")
    write("dev.tsv", "text\tlabel\na\ty, z\nb\t\nc\tx\n")
    dataset = create_own_dataset(str(tmp_path), "text", label_separator=",")
    dev = read_split(dataset, str(tmp_path), "dev", allow_unknown=True)
    assert (dev.labels.tolist(), dev.num_unknown) == ([[0, 1, 1], [0, 0, 0], [1, 0, 0]], 1)
    assert read_split(dataset, str(tmp_path), "train", allow_unknown=True).labels.tolist() == [
        [1, 1],
        [0, 0],
    ]
    with rejects("dev.tsv:2", "unknown label 'z'", "must be one of x, y"):
        read_split(dataset, str(tmp_path), "dev")
    write("dev.tsv", "text\tlabel\na\ty; z\nb\t\n")
    with rejects("dev.tsv", "none of the labels x, y", "check the label column"):
        read_split(dataset, str(tmp_path), "dev", allow_unknown=True)


@pytest.mark.parametrize("placeholder", ["-1", "", "?"])
@pytest.mark.parametrize("arguments", [{}, {"regression": True}, {"label_separator": ","}])
def test_labels_of_a_test_file_are_not_read(tmp_path, write, placeholder, arguments):
    write("train.tsv", "text\tlabel\na\t1\nb\t2\n")
    write("test.tsv", f"text\tlabel\nc\t{placeholder}\n")
    dataset = create_own_dataset(str(tmp_path), "text", **arguments)
    test = read_split(dataset, str(tmp_path), "test")
    assert (test.text_a, test.labels) == (["c"], None)


def test_custom_task_with_named_columns(tmp_path, write):
    """Whole numbers as labels are sorted by value. A TSV file comes before a CSV file."""
    write("train.csv", 'id,stars,title,body\n1,10,"a, b","c\n""d"""\n2,9,b,e\n')
    write("test.csv", "id,title,body\n")
    write("test.tsv", "id\ttitle\tbody\n5\ta\tf\n")
    dataset = create_own_dataset(str(tmp_path), "title", "body", "stars")
    assert (dataset.labels, dataset.metrics) == (("9", "10"), ("accuracy", "macro_f1"))
    train = read_split(dataset, str(tmp_path), "train")
    assert (train.text_a, train.text_b) == (["a, b", "b"], ['c\n"d"', "e"])
    assert train.labels.tolist() == [1, 0]
    test = read_split(dataset, str(tmp_path), "test")
    assert (test.text_a, test.text_b, test.labels) == (["a"], ["f"], None)


@pytest.mark.parametrize(
    ("rows", "arguments", "expected"),
    [
        (
            row("a", "x|z") + row("b", "") + row("c", "y | x"),
            {"label_separator": "|"},
            (("x", "y", "z"), ("micro_f1", "macro_f1"), [[1, 0, 1], [0, 0, 0], [1, 1, 0]]),
        ),
        (
            row("a", "x ") + row("b", "x") + row("c", " y"),
            {},
            (("x", "y"), ("accuracy", "macro_f1"), [0, 0, 1]),
        ),
        (row("a", "-1.5e2"), {"regression": True}, ((), ("pearson", "spearman"), [-150.0])),
        # Labels with too many digits for a number are sorted as text.
        (
            row("a", "1" * 5000) + row("b", "9") + row("c", "10"),
            {},
            (("10", "1" * 5000, "9"), ("accuracy", "macro_f1"), [1, 2, 0]),
        ),
    ],
)
def test_labels_of_custom_tasks(tmp_path, write, rows, arguments, expected):
    """Expected are the names of the labels, the metrics, and the labels of the rows."""
    write("train.tsv", row("text", "label") + rows)
    dataset = create_own_dataset(str(tmp_path), "text", **arguments)
    values = read_split(dataset, str(tmp_path), "train").labels.tolist()
    assert (dataset.labels, dataset.metrics, values) == expected


@pytest.mark.parametrize(
    ("rows", "column", "message"),
    [
        (
            row("a", "1"),
            "txt",
            Message("train.tsv:1", "column 'txt' does not exist", end="one of text, label"),
        ),
        (
            row("a", "1") + row("a", "tab", "1"),
            "text",
            Message("train.tsv:3", "must have 2 columns", "has 3"),
        ),
        (row("a", "1") + row("b", " "), "text", Message("train.tsv:3", "the label is empty")),
        (
            row("a", "1") * 2,
            "text",
            Message("train.tsv", "all rows have the label '1'", "check the label column"),
        ),
        ("", "text", Message("train.tsv", "contains no labels")),
    ],
)
def test_invalid_custom_files(tmp_path, write, rows, column, message):
    write("train.tsv", row("text", "label") + rows)
    with raises_message(message):
        create_own_dataset(str(tmp_path), column)
