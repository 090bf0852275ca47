"""A file of your own data: its columns, and its rows for development."""

import numpy as np
import pytest

from bert_tf.errors import InputError
from data_prep.datasets import own_columns
from data_prep.tasks.classifier import ClassifierData, ClassifierSettings
from tests.errors import Message, check_message, raises_message, rejects


@pytest.mark.parametrize(
    ("header", "given", "expected"),
    [
        ("id,Text ,LABEL", {}, ("Text ", "LABEL")),
        # By the order of the known names, not of the columns.
        ("title,review,stars", {}, ("review", "stars")),
        ("words,category", {}, ("words", "category")),
        ("sentence,y", {}, ("sentence", "y")),
        ("a,b,c", {"text_a": "b", "label": "a"}, ("b", "a")),
        ("text,text2,label", {"text_a": "text2"}, ("text2", "label")),
        ("question,text,label", {"text_b": "text"}, ("question", "label")),
        ("a,b", {"label": "a"}, ("b", "a")),
    ],
)
def test_columns_are_found_by_common_names(write, header, given, expected):
    assert own_columns.find_columns(write("a.csv", f"{header}\n"), **given) == expected


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (
            "a,b,label",
            Message(
                "a.csv",
                "which column has the texts",
                "Set `text_a_column`",
                end="one of a, b, label",
            ),
        ),
        (
            "text,a,b",
            Message(
                "a.csv",
                "which column has the labels",
                "Set `label_column`",
                end="one of text, a, b",
            ),
        ),
        ("a,b", Message("a.csv", "which column has the texts", end="one of a, b")),
        ("text", Message("a.csv", "which column has the labels", end="one of text")),
        ("", Message("a.csv", "is empty")),
    ],
)
def test_columns_that_are_not_found(write, header, message):
    with raises_message(message):
        own_columns.find_columns(write("a.csv", f"{header}\n"))


def test_development_rows_have_the_same_fraction_of_each_label():
    labels = np.array([0] * 100 + [1] * 10 + [2] * 2 + [3], np.int32)
    chosen = own_columns.choose_development_rows(labels, 0.2)
    assert np.bincount(labels[chosen], minlength=4).tolist() == [20, 2, 1, 0]
    np.testing.assert_array_equal(chosen, own_columns.choose_development_rows(labels, 0.2))
    assert not np.array_equal(np.flatnonzero(chosen)[:20], np.arange(20))
    assert not own_columns.choose_development_rows(labels, 0).any()
    assert (
        own_columns.choose_development_rows(np.linspace(0, 1, 30, dtype=np.float32), 0.1).sum() == 3
    )


def make_data(path, **settings):
    return ClassifierData(ClassifierSettings(data_file=path, **settings), 16)


def test_a_file_is_split(write, capsys):
    path = write(
        "a.csv",
        "review,stars\n" + "".join(f"text {number},{number % 4 // 3}\n" for number in range(40)),
    )
    data = make_data(path, dev_fraction=0.25)
    train = data.examples("train")
    dev = data.examples("dev")
    columns, split = capsys.readouterr().err.splitlines()
    check_message(columns, path, "40 rows", "texts: review", "labels: stars", "0 (30), 1 (10)")
    check_message(split, None, "30 rows", "10 for development", "(--dev_fraction=0.25)")
    assert sorted(train.text_a + dev.text_a) == sorted(f"text {number}" for number in range(40))
    assert (np.bincount(train.labels).tolist(), np.bincount(dev.labels).tolist()) == (
        [22, 8],
        [8, 2],
    )
    assert data.training_files == {"data_file": [path]}
    resolved = data.resolved_settings
    assert (resolved.task_name, resolved.text_a_column, resolved.label_column) == (
        "custom",
        "review",
        "stars",
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "id,opened,message,priority\n1,2,a,b\n",
            Message("a.csv", "which column has the labels", "Set `label_column`", "one of id, "),
        ),
        (
            "text,label\nGr\xfc\xdfe,a\n\xe4,b\nc,a\n".encode("latin1"),
            Message("data_file", "is not UTF-8 (2 lines)"),
        ),
    ],
)
def test_a_file_without_labels_or_in_another_encoding(write, content, message):
    with raises_message(message):
        make_data(write("a.csv", content)).examples("train")


def test_a_fraction_that_leaves_no_rows(write):
    path = write("a.csv", "text,label\na,0\nb,1\n")
    for fraction, split, what in ((0.0, "dev", "development"), (1.0, "train", "training")):
        data = make_data(path, dev_fraction=fraction)
        with rejects("dev_fraction", f"leaves no rows of {path}", f"for {what}", value=fraction):
            data.examples(split)
        data.examples("train" if split == "dev" else "dev")


def test_a_directory_without_files(tmp_path):
    for task_name, names in (
        ("custom", "train.tsv, train.csv, or train.jsonl"),
        ("mrpc", "train.tsv"),
    ):
        with rejects(
            "data_dir", f"contains no {names}", "for one file of your own", value=tmp_path
        ):
            ClassifierData(
                ClassifierSettings(task_name=task_name, data_dir=str(tmp_path)), 16
            ).examples("train")
    (tmp_path / "train.tsv").write_text("text\tlabel\na\t0\nb\t1\n")
    with pytest.raises(InputError, match=f"^`data_dir`={tmp_path}: contains no test.tsv$"):
        ClassifierData(ClassifierSettings(task_name="custom", data_dir=str(tmp_path)), 16).examples(
            "test"
        )
