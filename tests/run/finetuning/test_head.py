"""The head with which training starts: that of the checkpoint, or a new one."""

import numpy as np
import pytest

from bert_tf import models
from bert_tf.checkpoints import FORMATS, load_pretrained, model_tensors, task_metadata
from bert_tf.config import BertConfig
from bert_tf.tasks.metadata import TaskMetadata
from data_prep.tasks import classifier, span_labeler
from run.finetuning import head
from run.finetuning.settings import FineTuningSettings
from run.finetuning.tasks.classifier import ClassifierTask
from run.finetuning.tasks.span_labeler import SpanLabelerTask
from tests.errors import check_message, rejects
from tests.run.finetuning.toy_task import Task

CONFIG = BertConfig(11, 6, 1, 2, 7, max_position_embeddings=9, type_vocab_size=2)
HEAD = ("output_bias", "output_weights")


def describe(labels, kind="classifier", **values):
    return TaskMetadata(kind, 8, True, labels, **values)


@pytest.fixture
def checkpoint(tmp_path):
    """Function that writes a checkpoint of a model and returns its path.

    If the model has metadata, it also writes task.json.
    """

    def write(model, metadata=None):
        FORMATS["tf1"].write(str(tmp_path), model_tensors(model), CONFIG)
        if metadata:
            task_metadata.keep(str(tmp_path), metadata)
        return str(tmp_path)

    return write


def make_task(labels=("a", "b")):
    described = type("Described", (Task,), {"metadata": describe(labels)})
    return described.open(FineTuningSettings())


@pytest.mark.parametrize(
    ("labels", "metadata"),
    [(("a", "b"), None), (("a", "b"), describe(("a", "b"))), ((), describe(()))],
)
def test_a_head_for_the_same_labels_is_loaded(checkpoint, capsys, labels, metadata):
    path = checkpoint(models.BertClassifier(CONFIG, len(labels) or 1), metadata)
    for keep_head in (None, True):
        assert head.choose_new_variables(make_task(labels), path, keep_head, CONFIG) == ()
    assert capsys.readouterr().err == ""
    assert head.choose_new_variables(make_task(labels), path, False, CONFIG) == HEAD
    check_message(
        capsys.readouterr().err,
        "init_checkpoint",
        "loads the encoder",
        value=path,
        end="initializes a new head (`nokeep_head`)",
    )


@pytest.mark.parametrize(
    ("metadata", "labels", "difference"),
    [
        (describe(("b", "c")), ("a", "b"), ("a classifier", "the labels b, c")),
        (
            describe(("a", "b"), "token_classifier"),
            ("a", "b"),
            ("a token_classifier", "the labels a, b"),
        ),
        (
            describe(("a", "b"), multi_label=True),
            ("a", "b"),
            ("a classifier", "any number of", "labels a, b"),
        ),
    ],
)
def test_a_head_for_other_labels_is_new_by_default(
    checkpoint, capsys, metadata, labels, difference
):
    path = checkpoint(models.BertClassifier(CONFIG, len(labels)), metadata)
    assert head.choose_new_variables(make_task(labels), path, None, CONFIG) == HEAD
    check_message(
        capsys.readouterr().err,
        "init_checkpoint",
        "initializes a new head",
        *difference,
        "this task requires a classifier",
        "classifier with the labels a, b",
        value=path,
        end="; set `keep_head` to load it anyway",
    )
    assert head.choose_new_variables(make_task(labels), path, True, CONFIG) == ()
    assert head.choose_new_variables(make_task(labels), path, False, CONFIG) == HEAD


@pytest.mark.parametrize(
    ("labels", "order"),
    [
        (("LABEL_0", "LABEL_1"), ()),
        (("negative", "POSITIVE"), ()),
        (("positive", "negative"), (1, 0)),
        (("positive", "neutral"), None),
    ],
)
def test_a_head_of_hugging_face_is_loaded_if_it_has_the_labels_of_the_task(
    checkpoint, labels, order
):
    path = checkpoint(models.BertClassifier(CONFIG, 2), describe(labels))
    task = ClassifierTask.open(
        FineTuningSettings(
            task_settings=classifier.ClassifierSettings(task_name="sst-2", data_dir="none")
        ),
        None,
    )
    assert head.choose_new_variables(task, path, None, CONFIG) == (HEAD if order is None else ())
    assert head.get_output_order(task, path) == (order or ())


def test_rows_of_a_head_follow_the_labels(checkpoint, capsys):
    """A head whose labels have another order is loaded with its rows permuted by name."""
    existing = models.BertClassifier(CONFIG, 3)
    path = checkpoint(existing, describe(("c", "a", "b")))
    task = make_task(("a", "b", "c"))
    assert head.choose_new_variables(task, path, None, CONFIG) == ()
    order = head.get_output_order(task, path)
    assert order == (1, 2, 0)
    check_message(capsys.readouterr().err, None, "reorders the outputs", "c, a, b", "a, b, c")
    model = models.BertClassifier(CONFIG, 3)
    load_pretrained(model, path, output_order=order)
    values = {variable.name: variable.numpy() for variable in model.variables}
    for variable in existing.variables:
        expected = variable.numpy()
        if variable.name.startswith("output_"):
            expected = expected[[1, 2, 0]]
        np.testing.assert_array_equal(values[variable.name], expected)


def test_a_head_with_another_number_of_labels_is_new(checkpoint, capsys):
    path = checkpoint(models.BertClassifier(CONFIG, 3), describe(("x", "y", "z")))
    assert head.choose_new_variables(make_task(), path, None, CONFIG) == HEAD
    check_message(
        capsys.readouterr().err, "init_checkpoint", "has 3 outputs", end="this task requires 2"
    )
    with rejects(
        "keep_head",
        f"`init_checkpoint`={path} does not fit",
        "it has 3 outputs",
        end="this task requires 2",
    ):
        head.choose_new_variables(make_task(), path, True, CONFIG)


def test_a_checkpoint_without_a_head(checkpoint, capsys):
    path = checkpoint(models.BertEncoder(CONFIG))
    for keep_head in (None, False):
        assert head.choose_new_variables(make_task(), path, keep_head, CONFIG) == ()
    assert capsys.readouterr().err == ""
    with rejects(
        "keep_head",
        "`init_checkpoint`=",
        "has no head for this task",
        end="it lacks output_bias, output_weights",
    ):
        head.choose_new_variables(make_task(), path, True, CONFIG)


def test_loading_reports_another_hidden_size(checkpoint):
    path = checkpoint(models.BertClassifier(CONFIG, 2))
    assert head.choose_new_variables(make_task(), path, None, BertConfig(11, 8, 1, 2, 7)) == ()


def test_the_head_for_question_answering_has_its_own_names(checkpoint):
    task = SpanLabelerTask.open(
        FineTuningSettings(task_settings=span_labeler.SpanLabelerSettings()), None
    )
    model = models.BertSpanLabeler(CONFIG)
    assert task.head_shapes(CONFIG) == {
        variable.name.removesuffix(":0"): variable.shape.as_list()
        for variable in model.head.variables
    }
    path = checkpoint(model)
    assert head.choose_new_variables(task, path, True, CONFIG) == ()
    assert head.choose_new_variables(task, path, False, CONFIG) == tuple(task.head_shapes(CONFIG))
