"""ClassifierTask: labels in another order, of another task, without names, and unseen ones.

The training data have no rows with unseen labels.
"""

import dataclasses

import numpy as np
import pytest

from bert_tf.errors import InputError
from bert_tf.tasks.metadata import TaskMetadata
from bert_tf.tokenization import BertTokenizer
from data_prep.datasets.published import order_labels
from data_prep.tasks import classifier
from run.finetuning.settings import FineTuningSettings
from run.finetuning.tasks.classifier import ClassifierTask
from run.training.padding import Padding

UNNAMED = TaskMetadata("classifier", None, None, ("LABEL_0", "LABEL_1"), source="config.json")
MNLI = ("contradiction", "entailment", "neutral")
TWO_WAY = ("entailment", "not_entailment")


@pytest.mark.parametrize(
    ("task", "labels", "model_labels", "expected"),
    [
        ("mnli", MNLI, MNLI, MNLI),
        ("mnli", MNLI, ("LABEL_0", "LABEL_1", "LABEL_2"), MNLI),
        (
            "mnli",
            MNLI,
            ("ENTAILMENT", "NEUTRAL", "CONTRADICTION"),
            ("entailment", "neutral", "contradiction"),
        ),
        ("rte", TWO_WAY, ("not entailment", "Entailment"), ("not_entailment", "entailment")),
        ("sst-2", ("0", "1"), ("NEGATIVE", "POSITIVE"), ("0", "1")),
        ("sst-2", ("0", "1"), ("positive", "negative"), ("1", "0")),
        ("mrpc", ("0", "1"), ("not_equivalent", "equivalent"), ("0", "1")),
        ("mrpc", ("0", "1"), ("1", "0"), ("1", "0")),
    ],
)
def test_the_labels_of_a_task_are_in_the_order_of_the_model(task, labels, model_labels, expected):
    assert order_labels(task, labels, model_labels) == expected


@pytest.mark.parametrize(
    ("labels", "model_labels", "message"),
    [
        (
            MNLI,
            TWO_WAY,
            "it predicts entailment, not_entailment, "
            "but the task requires contradiction, entailment, neutral",
        ),
        (
            MNLI,
            ("entailment", "entailment", "neutral"),
            "it predicts entailment, entailment, neutral, but",
        ),
        (
            MNLI,
            ("LABEL_0", "LABEL_1"),
            "it predicts LABEL_0, LABEL_1, but the task requires contra",
        ),
        ((), TWO_WAY, "it predicts entailment, not_entailment, but the task requires a number"),
        (("0", "1"), (), "it predicts a number, but the task requires 0, 1"),
    ],
)
def test_a_model_of_another_task(labels, model_labels, message):
    with pytest.raises(
        InputError, match=f"`task_name`=mnli: the model was trained for another task; {message}"
    ):
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
    assert capsys.readouterr().err == (
        "note: the label order of the model differs from that of mrpc; "
        "using the order of the model: 1, 0\n"
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
        assert (
            capsys.readouterr().err
            == f"note: config.json has no label names; assuming {order}, in this order\n"
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
    note = (
        "dev: 2 rows; 1 rows have a label that the training data lacks (c) and count as "
        "misclassified"
    )
    assert note in capsys.readouterr().err
    logits = np.array([[9, -9], [-9, 9]], np.float32)  # the known labels
    scores = task.score({"logits": logits})
    assert scores["eval_micro_f1"] == pytest.approx(2 * 2 / (2 + 3))
    assert scores["eval_macro_f1"] == pytest.approx(2 / 3)
    assert scores["eval_loss"] == pytest.approx(np.log1p(np.exp(-9.0)), rel=1e-3)
