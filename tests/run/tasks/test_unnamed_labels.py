"""A model of Hugging Face whose labels have no names, on data whose labels have."""

import pytest

from bert_tf.model_folder.task_metadata import HuggingFaceTask
from data_prep.tasks import classifier
from run.finetuning.settings import FineTuningSettings
from run.tasks import ClassifierTask

UNNAMED = HuggingFaceTask("classifier", 7, True, ("LABEL_0", "LABEL_1"))


@pytest.fixture
def own(tmp_path):
    """The settings of a file of one's own with the labels a and b."""
    (tmp_path / "train.tsv").write_text("text\tlabel\nx\tb\ny\ta\n")
    return classifier.Settings(task_name="own", data_dir=str(tmp_path), text_a_column="text", label_column="label")


def test_the_order_in_which_they_are_taken_is_said(own, capsys):
    for task, order in ((own, "a, b"), (classifier.Settings(task_name="rte"), "entailment, not_entailment")):
        ClassifierTask(FineTuningSettings(task=task), UNNAMED)
        assert capsys.readouterr().err == (f"note: config.json gives the model's labels no names: they are taken for "
                                           f"{order}, in this order\n")


def test_nothing_is_said_of_labels_with_names_and_in_training(own, capsys):
    for kept in (HuggingFaceTask("classifier", 7, True, ("a", "b")), None):
        ClassifierTask(FineTuningSettings(task=own), kept)
    assert capsys.readouterr().err == ""
