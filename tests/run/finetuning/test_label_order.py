import pytest

from bert_tf.errors import InputError
from run.finetuning.label_order import labels_of_model

MNLI, TWO_WAY = ("contradiction", "entailment", "neutral"), ("entailment", "not_entailment")


@pytest.mark.parametrize(("task", "labels", "of_model", "expected"), [
    ("mnli", MNLI, MNLI, MNLI),
    ("mnli", MNLI, ("LABEL_0", "LABEL_1", "LABEL_2"), MNLI),
    ("mnli", MNLI, ("ENTAILMENT", "NEUTRAL", "CONTRADICTION"), ("entailment", "neutral", "contradiction")),
    ("rte", TWO_WAY, ("not entailment", "Entailment"), ("not_entailment", "entailment")),
    ("sst-2", ("0", "1"), ("NEGATIVE", "POSITIVE"), ("0", "1")),
    ("sst-2", ("0", "1"), ("positive", "negative"), ("1", "0")),
    ("mrpc", ("0", "1"), ("not_equivalent", "equivalent"), ("0", "1")),
    ("mrpc", ("0", "1"), ("1", "0"), ("1", "0")),
])
def test_a_task_in_the_models_order(task, labels, of_model, expected):
    assert labels_of_model(task, labels, of_model) == expected


@pytest.mark.parametrize(("labels", "of_model", "message"), [
    (MNLI, TWO_WAY, "its labels are entailment, not_entailment, those of the task contradiction, entailment, neutral"),
    (MNLI, ("a", "entailment", "neutral"), "its labels are a, entailment, neutral, those of the task contra"),
    (MNLI, ("entailment", "entailment", "neutral"), "its labels are entailment, entailment, neutral, those"),
    (MNLI, ("LABEL_0", "LABEL_1"), "its labels are LABEL_0, LABEL_1, those of the task contra"),
    ((), TWO_WAY, "its labels are entailment, not_entailment, those of the task a number"),
    (("0", "1"), (), "its labels are a number, those of the task 0, 1"),
])
def test_a_model_of_another_task(labels, of_model, message):
    with pytest.raises(InputError, match=f"`task_name`=mnli: the model was trained for another task, {message}"):
        labels_of_model("mnli", labels, of_model)
