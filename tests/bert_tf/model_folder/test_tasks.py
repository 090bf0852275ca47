"""The task of a fine-tuned model of Hugging Face, from its config.json."""

import pytest

from bert_tf.errors import InputError
from bert_tf.model_folder.task_metadata import read_hugging_face_task
from bert_tf.tasks.metadata import TaskMetadata

NAMES = {"id2label": {"0": "b", "1": "a", "2": "c"}}
CLASSIFIER, TAGGER = ({"architectures": [f"BertFor{name}Classification"]} for name in ("Sequence", "Token"))


def describe(kind, labels=(), multi_label=False):
    """Returns the TaskMetadata of a config.json."""
    return TaskMetadata(kind, None, None, labels, multi_label=multi_label)


@pytest.mark.parametrize(("values", "task"), [
    ({"architectures": ["BertModel"]}, None),
    ({}, None),
    ({"architectures": ["BertForMaskedLM"]}, describe("masked_lm")),
    ({"architectures": ["BertForQuestionAnswering"]}, describe("span_labeler")),
    ({"architectures": ["BertForMultipleChoice"], **NAMES}, describe("multiple_choice")),
    (CLASSIFIER | NAMES, describe("classifier", ("b", "a", "c"))),
    (CLASSIFIER | NAMES | {"problem_type": "multi_label_classification"},
     describe("classifier", ("b", "a", "c"), multi_label=True)),
    (CLASSIFIER, describe("classifier", ("LABEL_0", "LABEL_1"))),
    (CLASSIFIER | {"id2label": {"0": "LABEL_0"}}, describe("classifier")),
    (CLASSIFIER | {"id2label": {"0": "score"}, "problem_type": "regression"}, describe("classifier")),
    (TAGGER | NAMES, describe("token_classifier", ("b", "a", "c"))),
    (TAGGER | {"id2label": {"0": "O"}}, describe("token_classifier", ("O",))),
])
def test_the_model_class_and_its_labels(written, values, task):
    folder = written(config_json=values)
    assert read_hugging_face_task(folder) == read_hugging_face_task(f"{folder}/model.safetensors") == task


@pytest.mark.parametrize(("values", "message"), [
    ({"id2label": {"0": "a", "2": "b"}}, "id2label is {'0': 'a', '2': 'b'}: must map consecutive numbers"),
    ({"id2label": {}}, "id2label is {}: must contain at least one label"),
    ({"id2label": {"0": "a", "1": "b", "2": "a"}}, "id2label contains the label 'a' twice"),
    ({"problem_type": "ranking"}, "problem_type is 'ranking': must be one of regression, single_label_classific"),
    ({"problem_type": "regression", **NAMES}, "problem_type is 'regression' with 3 outputs: only one is supported"),
])
def test_invalid_labels(written, values, message):
    folder = written(config_json=CLASSIFIER | values)
    with pytest.raises(InputError, match=f"^{folder}/config.json: {message}"):
        read_hugging_face_task(folder)


def test_generic_labels():
    assert describe("classifier", ("LABEL_0", "LABEL_1")).has_generic_labels
    assert not describe("classifier", ("LABEL_0", "b")).has_generic_labels
    assert not describe("classifier").has_generic_labels
