"""Which head training starts with: the checkpoint's, or a new one."""

import pytest

from bert_tf import models
from bert_tf.checkpoints import FORMATS, model_tensors
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.model_folder import task_metadata
from data_prep.tasks import classifier, span_labeler
from run.finetuning import head
from run.finetuning.settings import FineTuningSettings
from run.tasks import ClassifierTask, SpanLabelerTask
from tests.run.finetuning.test_job import Task

CONFIG = BertConfig(11, 6, 1, 2, 7, max_position_embeddings=9, type_vocab_size=2)
HEAD = ("output_bias", "output_weights")


def metadata(kind="classifier", labels=("a", "b")):
    return task_metadata.TaskMetadata(kind, 8, True, labels)


def task_of(**values):
    task = Task(FineTuningSettings(), None)
    task.metadata = metadata(**values)
    return task


@pytest.fixture
def checkpoint(tmp_path):
    """(model, metadata or None) -> the path of a checkpoint of it, with a task.json."""
    def write(model, of_task):
        FORMATS["tf1"].write(str(tmp_path), model_tensors(model), CONFIG)
        if of_task:
            task_metadata.keep(str(tmp_path), of_task)
        return str(tmp_path)
    return write


@pytest.mark.parametrize(("labels", "of_task"), [(2, None), (2, metadata()), (1, metadata(labels=()))])
@pytest.mark.parametrize("keep_head", [None, True])
def test_a_head_for_the_same_labels_is_taken(checkpoint, capsys, labels, of_task, keep_head):
    path = checkpoint(models.BertClassifier(CONFIG, labels), of_task)
    task = task_of(labels=of_task.labels if of_task else ("a", "b"))
    assert head.new_variables(task, path, keep_head, CONFIG) == ()
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(("of_task", "difference"), [
    (metadata(labels=("b", "a")), "its labels are b, a, and this task's a, b"),
    (metadata(labels=("0", "1")), "its labels are 0, 1, and this task's a, b"),
    (metadata(kind="token_classifier"), "it is of a token_classifier, and this task of a classifier"),
])
def test_a_head_that_fits_and_was_trained_for_others_is_new_unless_one_insists(checkpoint, capsys, of_task, difference):
    path = checkpoint(models.BertClassifier(CONFIG, 2), of_task)
    assert head.new_variables(task_of(), path, None, CONFIG) == HEAD
    assert capsys.readouterr().out == (
        f"`init_checkpoint`={path}: the encoder is taken, the head is new; of the checkpoint's head: {difference}; "
        "`keep_head` takes it all the same\n")
    assert head.new_variables(task_of(), path, True, CONFIG) == ()
    assert head.new_variables(task_of(), path, False, CONFIG) == HEAD


@pytest.mark.parametrize(("labels", "is_taken"), [
    (("LABEL_0", "LABEL_1"), True), (("negative", "POSITIVE"), True), (("positive", "negative"), False)])
def test_a_head_of_hugging_face_is_taken_if_its_labels_are_the_tasks(checkpoint, capsys, labels, is_taken):
    path = checkpoint(models.BertClassifier(CONFIG, 2), metadata(labels=labels))
    task = ClassifierTask(FineTuningSettings(task=classifier.Settings(task_name="sst-2", data_dir="none")), None)
    assert head.new_variables(task, path, None, CONFIG) == (() if is_taken else HEAD)
    assert ("its labels are positive, negative, and this task's 0, 1" in capsys.readouterr().out) != is_taken


@pytest.mark.parametrize("of_task", [None, metadata(labels=("x", "y", "z"))])
def test_a_head_of_another_number_of_labels_is_new(checkpoint, capsys, of_task):
    path = checkpoint(models.BertClassifier(CONFIG, 3), of_task)
    assert head.new_variables(task_of(), path, None, CONFIG) == HEAD
    line = capsys.readouterr().out
    assert line.endswith("; of the checkpoint's head: it has 3 outputs, and this task needs 2\n")
    assert line.count("\n") == 1
    with pytest.raises(InputError, match=f"^`keep_head`: the head of `init_checkpoint`={path} does not fit: it has 3 "
                                         "outputs, and this task needs 2$"):
        head.new_variables(task_of(), path, True, CONFIG)


def test_a_head_that_is_not_wanted_is_new(checkpoint, capsys):
    path = checkpoint(models.BertClassifier(CONFIG, 2), metadata())
    assert head.new_variables(task_of(), path, False, CONFIG) == HEAD
    assert capsys.readouterr().out == (
        f"`init_checkpoint`={path}: the encoder is taken, the head is new, by `nokeep_head`\n")


def test_a_checkpoint_without_a_head(checkpoint, capsys):
    path = checkpoint(models.BertEncoder(CONFIG), None)
    for keep_head in (None, False):
        assert head.new_variables(task_of(), path, keep_head, CONFIG) == ()
    assert capsys.readouterr().out == ""
    with pytest.raises(InputError, match=r"^`keep_head`: `init_checkpoint`=.* has no head for this task, it "
                                         r"lacks output_bias, output_weights$"):
        head.new_variables(task_of(), path, True, CONFIG)


def test_a_head_of_another_width_is_left_to_loading(checkpoint):
    path = checkpoint(models.BertClassifier(CONFIG, 2), None)
    assert head.new_variables(task_of(), path, None, BertConfig(11, 8, 1, 2, 7)) == ()


def test_the_head_of_questions_has_its_own_names(checkpoint):
    settings = FineTuningSettings(task=span_labeler.Settings())
    task = SpanLabelerTask(settings, None)
    names = {variable.name.removesuffix(":0"): variable.shape.as_list()
             for variable in models.BertSpanLabeler(CONFIG).head.variables}
    assert task.head_shapes(CONFIG) == names
    path = checkpoint(models.BertSpanLabeler(CONFIG), None)
    assert head.new_variables(task, path, True, CONFIG) == ()
    assert head.new_variables(task, path, False, CONFIG) == tuple(task.head_shapes(CONFIG))


def test_many_labels_are_not_all_shown(checkpoint, capsys):
    names = tuple(f"label{number}" for number in range(10))
    path = checkpoint(models.BertClassifier(CONFIG, 10), metadata(labels=names))
    assert head.new_variables(task_of(labels=names[::-1]), path, None, CONFIG) == HEAD
    assert "label7 and 2 more, and this task's label9" in capsys.readouterr().out
