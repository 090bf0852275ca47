"""The task of a fine-tuned model of Hugging Face, from its config.json."""

import pytest

from bert_tf.errors import InputError
from bert_tf.model_folder import Task, read_task

NAMES = {"id2label": {"0": "b", "1": "a", "2": "c"}}
CLASSIFIER, TAGGER = ({"architectures": [f"BertFor{name}Classification"]} for name in ("Sequence", "Token"))


@pytest.mark.parametrize(("values", "task"), [
    ({"architectures": ["BertModel"]}, None),
    ({}, None),
    ({"architectures": None}, None),
    ({"architectures": ["BertForMaskedLM"]}, Task("masked_lm")),
    ({"architectures": ["BertForPreTraining"]}, Task("masked_lm")),
    ({"architectures": ["BertForQuestionAnswering"]}, Task("span_labeler")),
    ({"architectures": ["BertForMultipleChoice"], **NAMES}, Task("multiple_choice")),
    (CLASSIFIER | NAMES, Task("classifier", ("b", "a", "c"))),
    (CLASSIFIER | NAMES | {"problem_type": "single_label_classification"}, Task("classifier", ("b", "a", "c"))),
    (CLASSIFIER | NAMES | {"problem_type": "multi_label_classification"}, Task("classifier", ("b", "a", "c"), True)),
    (CLASSIFIER, Task("classifier", ("LABEL_0", "LABEL_1"))),
    (CLASSIFIER | {"num_labels": 3}, Task("classifier", ("LABEL_0", "LABEL_1", "LABEL_2"))),
    (CLASSIFIER | {"id2label": {"0": "LABEL_0"}}, Task("classifier")),
    (CLASSIFIER | {"id2label": {"0": "score"}, "problem_type": "regression"}, Task("classifier")),
    (TAGGER | NAMES, Task("token_classifier", ("b", "a", "c"))),
    (TAGGER | {"id2label": {"0": "O"}}, Task("token_classifier", ("O",))),
])
def test_the_model_class_and_its_labels(written, values, task):
    folder = written(config_json=values)
    assert read_task(folder) == read_task(f"{folder}/model.safetensors") == task


def test_a_folder_without_a_config(tmp_path):
    assert read_task(str(tmp_path)) is None


@pytest.mark.parametrize(("values", "message"), [
    ({"id2label": {"0": "a", "2": "b"}}, "id2label is {'0': 'a', '2': 'b'}: must map consecutive numbers"),
    ({"id2label": ["a"]}, r"id2label is \['a'\]: must map"),
    ({"id2label": {"0": 3}}, "id2label is {'0': 3}: must map"),
    ({"id2label": {}}, "id2label is {}: must contain at least one label"),
    ({"id2label": {"0": "a", "1": "b", "2": "a"}}, "id2label contains the label 'a' twice"),
    ({"problem_type": "ranking"}, "problem_type is 'ranking': must be one of regression, single_label_classific"),
    ({"problem_type": "regression", **NAMES}, "problem_type is 'regression' with 3 outputs: only one is supported"),
])
def test_invalid_labels(written, values, message):
    folder = written(config_json=CLASSIFIER | values)
    with pytest.raises(InputError, match=f"^{folder}/config.json: {message}"):
        read_task(folder)


def test_generic_labels():
    assert Task("classifier", ("LABEL_0", "LABEL_1")).is_generic
    assert not Task("classifier", ("LABEL_0", "b")).is_generic
    assert not Task("classifier").is_generic
