"""Data of a classifier for a model that exists."""

import pytest

from bert_tf.errors import InputError
from bert_tf.model_folder.task_metadata import HuggingFaceTask
from data_prep.tasks.classifier import ClassifierData, Settings


@pytest.mark.parametrize(("model_labels", "message"), [
    (("LABEL_0", "LABEL_1"), "the model has 2 labels, but the data has 3"),
    (tuple(f"LABEL_{number}" for number in range(4)), "the model has 4 labels, but the data has 3"),
    (("LABEL_0", "LABEL_1", "LABEL_2"), None),
])
def test_number_of_labels_of_an_unnamed_model(tmp_path, write, model_labels, message):
    write("train.tsv", "text\tlabel\nx\tb\ny\ta\nz\tc\n")
    settings = Settings(task_name="own", data_dir=str(tmp_path))
    model = HuggingFaceTask("classifier", 7, True, model_labels)
    if message:
        with pytest.raises(InputError, match=f"^`data_dir`=.*: {message}; use the data of the task"):
            ClassifierData(settings, 7, model)
    else:
        assert ClassifierData(settings, 7, model).dataset.labels == ("a", "b", "c")
