"""Questions of development data with correct answers, and texts for another kind of model."""

import types

import pytest

from bert_tf.tasks.metadata import TaskMetadata
from data_prep.tasks import DATA
from run.analysis.questions import READERS, Question, read_questions
from tests.errors import rejects


def read(kind, labels=(), **settings):
    data = DATA[kind](DATA[kind].settings_class(**settings), 9, TaskMetadata(kind, 9, True, labels))
    return list(READERS[kind](data))


@pytest.mark.parametrize(
    ("separator", "dev", "expected", "right"),
    [
        (None, ["a", "c"], ["a", "unknown label"], ["a", None]),
        (",", ["a", "a, c"], ["a", "a, unknown label"], [["a"], ["a", None]]),
    ],
)
def test_labels_that_the_training_data_lacks(tmp_path, separator, dev, expected, right):
    for split, labels in (("train", ["a", "b"]), ("dev", dev)):
        (tmp_path / f"{split}.tsv").write_text(
            "text\tlabel\n" + "".join(f"it stops\t{label}\n" for label in labels)
        )
    questions = read(
        "classifier",
        ("a", "b"),
        task_name="custom",
        data_dir=str(tmp_path),
        label_separator=separator,
    )
    assert [each.expected for each in questions] == expected
    assert [each.right for each in questions] == right


def test_pairs_and_numbers(tmp_path):
    (tmp_path / "SICK_trial.txt").write_text(
        "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n3\ta\tb\t2.5\tNEUTRAL\n"
    )
    assert read("classifier", task_name="sick_r", data_dir=str(tmp_path)) == [
        Question("a", "b", expected="2.5", source="dev-3", right=2.5)
    ]


def test_choices(tmp_path):
    (tmp_path / "dev.csv").write_text("sent1,sent2,ending0,ending1,label\na,b,c,d,1\n")
    assert read("multiple_choice", dev_file=str(tmp_path / "dev.csv")) == [
        Question("a", choices=("b c", "b d"), expected="choice 1", source="0", right=1)
    ]


@pytest.mark.parametrize(
    ("kind", "text", "parts"),
    [
        ("token_classifier", "a ||| b", ("token classifier", "a single text, without")),
        ("span_labeler", "a", ("span labeler", "a question and its context", "separated by")),
    ],
)
def test_texts_for_another_kind(kind, text, parts):
    with rejects("text", *parts):
        read_questions(types.SimpleNamespace(input_file=None, text=[text]), kind)
