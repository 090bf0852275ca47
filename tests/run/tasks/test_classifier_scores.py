"""Scores of ClassifierTask from given logits."""

import numpy as np
import pytest

from bert_tf.tasks.metadata import TaskMetadata
from bert_tf.tokenization import BertTokenizer
from data_prep.tasks import classifier
from run.finetuning.settings import FineTuningSettings, TuningSettings
from run.tasks import ClassifierTask


@pytest.fixture
def make_settings(tmp_path):
    """Function that writes labels of training and development data, and returns the settings of their task."""
    def make(train, dev, **settings):
        for split, labels in (("train", train), ("dev", dev)):
            rows = "".join(f"it stops\t{label}\n" for label in labels)
            (tmp_path / f"{split}.tsv").write_text(f"text\tlabel\n{rows}")
        return classifier.Settings(task_name="custom", data_dir=str(tmp_path), **settings)
    return make


def test_several_labels_of_which_the_training_data_lacks_some_count_as_wrong(make_settings, reference, capsys):
    """Each row with such labels adds a label that no row has in the predictions."""
    settings = make_settings(["a, b", "b", ""], ["a, c", "b"], label_separator=",")
    task = ClassifierTask(FineTuningSettings(task=settings, tuning=TuningSettings(do_eval=True)),
                          TaskMetadata("classifier", 9, True, ("a", "b"), multi_label=True))
    task.read(BertTokenizer(str(reference / "text" / "vocab.txt")), ignore_padding=False)
    note = "dev: 2 rows; 1 rows have a label that the training data lacks and count as misclassified"
    assert note in capsys.readouterr().err
    logits = np.array([[9, -9], [-9, 9]], np.float32)  # the known labels
    scores = task.score({"logits": logits})
    assert scores["eval_micro_f1"] == pytest.approx(2 * 2 / (2 + 3))
    assert scores["eval_macro_f1"] == pytest.approx(2 / 3)
    assert scores["eval_loss"] == pytest.approx(np.log1p(np.exp(-9.0)), rel=1e-3)
