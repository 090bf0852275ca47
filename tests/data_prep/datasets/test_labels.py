"""Several labels per row: lists, a column per label, and separated texts."""

import numpy as np
import pytest

from data_prep.datasets.labels import IndicatorLabels, ListedLabels
from data_prep.datasets.own_data import create_own_dataset
from data_prep.datasets.reader import read_split
from data_prep.tasks.classifier import ClassifierData, ClassifierSettings
from tests.conftest import REFERENCE
from tests.errors import check_message, rejects

FOLDER = REFERENCE / "tables"


def read_labels(dataset, split="train", **options):
    return read_split(dataset, "", split, **options).labels.tolist()


def test_lists_of_doccano():
    """Without an option. An empty list is a row without a label."""
    dataset = create_own_dataset("", file=str(FOLDER / "list_labels_doccano.jsonl"))
    assert (dataset.labels, dataset.is_multi_label, dataset.metrics[0]) == (
        ("long", "neg", "pos"),
        True,
        "micro_f1",
    )
    assert read_labels(dataset)[:4] == [[0, 0, 0], [0, 0, 1], [1, 0, 1], [0, 1, 0]]


def test_the_first_line_lists_the_labels(capsys):
    data = ClassifierData(
        ClassifierSettings(data_file=str(FOLDER / "list_labels_doccano.jsonl")), 16
    )
    counts = np.concatenate([data.examples(split).labels for split in ("train", "dev")]).sum(axis=0)
    check_message(
        capsys.readouterr().err.splitlines()[0],
        FOLDER / "list_labels_doccano.jsonl",
        "rows; texts: text",
        "labels: label, several per row",
        ", ".join(f"{name} ({n:,})" for name, n in zip(data.dataset.labels, counts, strict=True)),
    )
    assert data.metadata_fields["multi_label"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (
            "a.jsonl",
            '{"text": "a", "label": {"choices": ["x", "z"]}}\n{"text": "b", "label": "y"}\n'
            '{"text": "c", "label": null}\n',
        ),
        ("a.csv", 'text,label\na,"{""choices"":[""x"",""z""]}"\nb,y\nc,\n'),
        ("a.csv", 'text,label\na,"[""x"", ""z""]"\nb,"[""y""]"\nc,[]\n'),
    ],
)
def test_choices_of_label_studio_and_lists_in_csv(write, name, content):
    """Label Studio writes one choice as a text."""
    dataset = create_own_dataset("", file=write(name, content))
    assert (dataset.labels, dataset.label_format) == (("x", "y", "z"), ListedLabels())
    assert read_labels(dataset) == [[1, 0, 1], [0, 1, 0], [0, 0, 0]]


def test_labels_of_a_model_do_not_change_the_format(write):
    path = write("a.jsonl", '{"text": "a", "label": ["x"]}\n{"text": "b", "label": []}\n')
    dataset = create_own_dataset("", file=path, labels=("z", "x"))
    assert read_labels(dataset) == [[0, 1], [0, 0]]


def test_a_text_in_brackets_is_a_label(write):
    dataset = create_own_dataset("", file=write("a.csv", "text,label\na,[x]\nb,y\n"))
    assert (dataset.labels, dataset.is_multi_label) == (("[x]", "y"), False)


def test_a_column_per_label(write):
    """As in the comments of Kaggle's toxic comment classification. The order is that given."""
    path = write(
        "a.csv",
        "id,comment_text,toxic,obscene,threat\n1,a,0,1,0\n2,b,1,1,0\n3,c,0.0,0,False\n",
    )
    columns = "threat,toxic, obscene"
    dataset = create_own_dataset("", "comment_text", label=columns, file=path)
    labels = ("threat", "toxic", "obscene")
    assert (dataset.labels, dataset.label_format) == (labels, IndicatorLabels(labels))
    assert read_labels(dataset) == [[0, 0, 1], [0, 1, 1], [0, 0, 0]]
    data = ClassifierData(
        ClassifierSettings(data_file=path, text_a_column="comment_text", label_column=columns), 16
    )
    assert data.resolved_settings.label_column == "threat,toxic,obscene"
    dataset = create_own_dataset("", "comment_text", label="toxic,mild", file=path)
    with rejects("a.csv:1", "column 'mild' does not exist", "must be one of"):
        read_labels(dataset)


def test_a_column_per_label_with_other_values(write):
    path = write("a.csv", "text,x,y\na,0,1\nb,2,1\n")
    dataset = create_own_dataset("", label="x,y", file=path)
    with rejects("a.csv:3", "column x is '2'", end="must be 0 or 1"):
        read_labels(dataset)


def test_a_column_name_with_a_comma(write):
    path = write("a.csv", 'text,"x,y"\na,0\nb,1\n')
    dataset = create_own_dataset("", label="x,y", file=path)
    assert (dataset.labels, read_labels(dataset)) == (("0", "1"), [0, 1])


def test_labels_with_other_digits_are_shown(tmp_path, write):
    write("train.csv", "text,label\na,0\nb,1\n")
    write("dev.csv", "text,label\na,0.0\nb,1.0\n")
    dataset = create_own_dataset(str(tmp_path))
    with rejects(
        "dev.csv", "none of the labels 0, 1", "check the label column", end="has 0.0, 1.0"
    ):
        read_split(dataset, str(tmp_path), "dev", allow_unknown=True)
    write("dev.csv", "text,label\na,0\nb,1.0\n")
    assert read_split(dataset, str(tmp_path), "dev", allow_unknown=True).unknown_labels == ("1.0",)


def test_balanced_weights_require_one_label_per_row():
    settings = ClassifierSettings(
        data_file=str(FOLDER / "list_labels_doccano.jsonl"), class_weights="balanced"
    )
    with rejects("class_weights", "requires one label per row", value="balanced"):
        ClassifierData(settings, 16).check()


def test_words_are_joined_with_a_note(write):
    path = write("a.jsonl", '{"text": ["a", "b"], "label": "x"}\n{"text": "c", "label": "y"}\n')
    examples = read_split(create_own_dataset("", file=path), "", "train")
    assert examples.text_a == ["a b", "c"]
    assert examples.notes == (
        f"note: {path}: 1 texts are lists of words, which are joined with spaces",
    )
    path = write("b.jsonl", '{"text": ["a", 1], "label": "x"}\n')
    with rejects("b.jsonl:1", "text is ['a', 1]", "must be a string"):
        create_own_dataset("", file=path)


def test_a_file_without_a_header_says_so():
    """And is read with the names of its columns."""
    path = str(FOLDER / "headerless.csv")
    with rejects(
        "headerless.csv",
        "which column has the texts?",
        "the first row looks like data",
        "if the file has no header",
        "`columns`=text,label",
    ):
        ClassifierData(ClassifierSettings(data_file=path), 16)
    data = ClassifierData(ClassifierSettings(data_file=path, columns=("text", "label")), 16)
    assert data.dataset.labels == ("0", "1", "2")
    assert "the plot was dreadful" in data.examples("train").text_a + data.examples("dev").text_a


def test_two_columns_of_one_name(write):
    """An error if the column is read. Other columns may have one name."""
    path = write("a.csv", "text,label,label,x,x\na,0,1,,\nb,1,0,,\n")
    with rejects("a.csv:1", "2 columns have the name 'label'", "rename all but one"):
        create_own_dataset("", file=path)
    path = write("b.csv", "text,label,x,x\na,0,,\nb,1,,\n")
    assert create_own_dataset("", file=path).labels == ("0", "1")


@pytest.mark.parametrize("name", ["json_array.json", "reviews.csv.gz", "reviews.csv"])
def test_files_of_today(name):
    """They have 60 rows with two labels."""
    data = ClassifierData(ClassifierSettings(data_file=str(FOLDER / name)), 16)
    assert len(data.dataset.labels) == 2
    assert len(data.examples("train")) + len(data.examples("dev")) > 10


def test_a_directory_of_parquet(tmp_path):
    for name in ("train.parquet", "dev.parquet"):
        (tmp_path / name).write_bytes((FOLDER / "pandas.parquet").read_bytes())
    dataset = create_own_dataset(str(tmp_path))
    assert dataset.labels == ("neg", "pos")
    assert read_split(dataset, str(tmp_path), "dev").labels.tolist() == [0, 1, 0]
