"""ClassifierTask: labels in another order, of another task, without names, and unseen ones.

The training data have no rows with unseen labels.
"""

import dataclasses

import numpy as np
import pytest

from bert_tf.tasks.metadata import TaskMetadata
from bert_tf.tokenization import BertTokenizer
from data_prep.datasets.published import order_labels
from data_prep.tasks import classifier
from run.finetuning.settings import FineTuningSettings
from run.finetuning.tasks.classifier import ClassifierTask
from run.training.padding import Padding
from tests.errors import check_message, rejects

UNNAMED = TaskMetadata("classifier", None, None, ("LABEL_0", "LABEL_1"), source="config.json")
MNLI = ("contradiction", "entailment", "neutral")
TWO_WAY = ("entailment", "not_entailment")


@dataclasses.dataclass(frozen=True)
class LabelOrder:
    """Labels of a task and of a model, and their common order.

    Attributes:
      task: str. Name of the task.
      labels: Tuple of str. Labels of the task.
      model_labels: Tuple of str. Labels of the model.
      expected: Tuple of str. Labels of the task in the order of the model.
    """

    task: str
    labels: tuple
    model_labels: tuple
    expected: tuple


@pytest.mark.parametrize(
    "case",
    [
        LabelOrder(task="mnli", labels=MNLI, model_labels=MNLI, expected=MNLI),
        LabelOrder(
            task="mnli", labels=MNLI, model_labels=("LABEL_0", "LABEL_1", "LABEL_2"), expected=MNLI
        ),
        LabelOrder(
            task="mnli",
            labels=MNLI,
            model_labels=("ENTAILMENT", "NEUTRAL", "CONTRADICTION"),
            expected=("entailment", "neutral", "contradiction"),
        ),
        LabelOrder(
            task="rte",
            labels=TWO_WAY,
            model_labels=("not entailment", "Entailment"),
            expected=("not_entailment", "entailment"),
        ),
        LabelOrder(
            task="sst-2",
            labels=("0", "1"),
            model_labels=("NEGATIVE", "POSITIVE"),
            expected=("0", "1"),
        ),
        LabelOrder(
            task="sst-2",
            labels=("0", "1"),
            model_labels=("positive", "negative"),
            expected=("1", "0"),
        ),
        LabelOrder(
            task="mrpc",
            labels=("0", "1"),
            model_labels=("not_equivalent", "equivalent"),
            expected=("0", "1"),
        ),
        LabelOrder(task="mrpc", labels=("0", "1"), model_labels=("1", "0"), expected=("1", "0")),
    ],
)
def test_the_labels_of_a_task_are_in_the_order_of_the_model(case):
    assert order_labels(case.task, case.labels, case.model_labels) == case.expected


@pytest.mark.parametrize(
    ("labels", "model_labels", "parts"),
    [
        (
            MNLI,
            TWO_WAY,
            ("predicts entailment, not_entailment", "requires contradiction, entailment, neutral"),
        ),
        (
            MNLI,
            ("entailment", "entailment", "neutral"),
            ("predicts entailment, entailment, neutral",),
        ),
        (
            MNLI,
            ("LABEL_0", "LABEL_1"),
            ("predicts LABEL_0, LABEL_1", "requires contradiction"),
        ),
        ((), TWO_WAY, ("predicts entailment, not_entailment", "requires a number")),
        (("0", "1"), (), ("predicts a number", "requires 0, 1")),
    ],
)
def test_a_model_of_another_task(labels, model_labels, parts):
    with rejects("task_name", "trained for another task", *parts, value="mnli"):
        order_labels("mnli", labels, model_labels)


def test_scores_do_not_depend_on_the_order_of_the_model(capsys):
    """F1 refers to the published label 1, which can be any output of the model."""
    settings = FineTuningSettings(
        task_settings=classifier.ClassifierSettings(task_name="mrpc", data_dir="none")
    )
    logits = np.array([[2.0, 1], [0, 1], [3, 4], [1, 0], [0, 5]], np.float32)
    labels = np.array([0, 0, 1, 1, 1])
    found = []
    for order in (("0", "1"), ("1", "0")):
        task = ClassifierTask.open(settings, TaskMetadata("classifier", 8, True, order))
        columns = [int(label) for label in order]
        label_ids = np.array([columns.index(label) for label in labels])
        task = dataclasses.replace(task, features={"dev": {"label_ids": label_ids}})
        found.append(task.score({"logits": logits[:, columns]}))
    assert found[0] == pytest.approx(found[1])
    assert found[0]["eval_f1"] == pytest.approx(2 / 3)
    check_message(
        capsys.readouterr().err,
        "note",
        "the label order",
        "differs",
        "mrpc",
        "using the order of the model",
        "1, 0",
    )


def make_custom(folder, train, dev=(), **settings):
    """Writes labels of training and development data; returns the settings of their task."""
    for split, labels in (("train", train), ("dev", dev)):
        rows = "".join(f"it stops\t{label}\n" for label in labels)
        (folder / f"{split}.tsv").write_text(f"text\tlabel\n{rows}")
    return classifier.ClassifierSettings(task_name="custom", data_dir=str(folder), **settings)


def test_a_note_gives_the_order_of_unnamed_labels(tmp_path, capsys):
    for task, order in (
        (make_custom(tmp_path, ["b", "a"]), "a, b"),
        (classifier.ClassifierSettings(task_name="rte"), "entailment, not_entailment"),
    ):
        ClassifierTask.open(FineTuningSettings(task_settings=task), UNNAMED)
        check_message(
            capsys.readouterr().err,
            "note",
            "config.json has no label names",
            f"assuming {order}, in this order",
        )


def test_several_labels_of_which_the_training_data_lacks_some_count_as_wrong(
    tmp_path, reference, capsys
):
    """Each row with such labels adds a label that no row has in the predictions."""
    settings = make_custom(tmp_path, ["a, b", "b", ""], ["a, c", "b"], label_separator=",")
    task = ClassifierTask.open(
        FineTuningSettings(task_settings=settings, do_eval=True),
        TaskMetadata("classifier", 9, True, ("a", "b"), multi_label=True),
    )
    task = task.read(BertTokenizer(str(reference / "text" / "vocab.txt")), Padding.STATIC)
    check_message(
        capsys.readouterr().err,
        None,
        "dev: 2 rows",
        "1 rows have a label",
        "the training data lacks (c)",
        "misclassified",
    )
    logits = np.array([[9, -9], [-9, 9]], np.float32)  # the known labels
    scores = task.score({"logits": logits})
    assert scores["eval_micro_f1"] == pytest.approx(2 * 2 / (2 + 3))
    assert scores["eval_macro_f1"] == pytest.approx(2 / 3)
    assert scores["eval_loss"] == pytest.approx(np.log1p(np.exp(-9.0)), rel=1e-3)
