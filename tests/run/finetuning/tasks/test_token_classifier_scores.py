"""Scores, reports, and predictions of TokenClassifierTask from given logits."""

import numpy as np
import pytest

from bert_tf.cli.model_settings import TokenizerSettings
from bert_tf.tasks.metadata import TaskMetadata
from bert_tf.tokenization import BertTokenizer
from data_prep.tasks import token_classifier, word_features
from run.finetuning.settings import FineTuningSettings
from run.finetuning.tasks.token_classifier import TokenClassifierTask
from run.training.padding import Padding
from run.training.settings import TrainingSettings
from tests.errors import rejects

ENTITIES = ("O", "B-X", "I-X")


@pytest.fixture
def make_task(tmp_path, reference):
    """Function that returns a task which has read a file for its split.

    Its arguments are the content of the file, and "dev" or "test".
    """

    def make(split, content, labels=ENTITIES, name="data.txt", **settings):
        (tmp_path / name).write_text(content)
        settings = FineTuningSettings(
            do_eval=split == "dev",
            do_predict=split == "test",
            tokenizer=TokenizerSettings(max_seq_length=9),
            task_settings=token_classifier.TokenClassifierSettings(
                **{f"{split}_file": str(tmp_path / name), **settings}
            ),
        )
        task = TokenClassifierTask.open(settings, TaskMetadata("token_classifier", 9, True, labels))
        return task.read(BertTokenizer(str(reference / "text" / "vocab.txt")), Padding.STATIC)

    return make


def make_logits(label_ids):
    """Returns logits for label IDs; ignored positions have the label 1."""
    return {"logits": np.eye(3, dtype=np.float32)[np.where(label_ids < 0, 1, label_ids)]}


def test_no_entities_in_labels_and_predictions(make_task, tmp_path):
    task = make_task("dev", "one O\ntwo O\n\nthree O\n")
    outputs = {
        "logits": np.tile(np.float32([3, 1, 2]), [*task.eval_features["input_ids"].shape, 1])
    }
    assert task.score(outputs)["eval_f1"] == 0
    task.report(outputs, str(tmp_path))
    assert (
        tmp_path / "eval_report.txt"
    ).read_text() == "neither the labels nor the predictions contain an entity\n"


def test_labels_that_are_not_entities(make_task, tmp_path):
    """Words are scored by accuracy and macro F1: a of 1 and 1, b of 2/3 and 1, c of 0."""
    task = make_task("dev", "the a\nfirst a\nline b\nstops b\n\nhere c\n", ("a", "b", "c"))
    label_ids = task.eval_features["label_ids"].copy()
    label_ids[label_ids == 2] = 1
    scores = task.score(make_logits(label_ids))
    assert task.metric == "eval_accuracy"
    assert "eval_f1" not in scores
    assert scores["eval_accuracy"] == pytest.approx(4 / 5)
    assert scores["eval_macro_f1"] == pytest.approx((1 + 2 * (2 / 3) / (1 + 2 / 3) + 0) / 3)
    task.report(make_logits(label_ids), str(tmp_path))
    assert "macro" in (tmp_path / "eval_report.txt").read_text()


def test_document_context_does_not_count_twice(make_task):
    """Each word counts in one window.

    Its logits in other windows, here of a wrong label, are ignored.
    """
    task = make_task(
        "dev",
        "-DOCSTART- O\n\n"
        + "the O\nfirst B-X\nline I-X\n\nstops O\n\n" * 4
        + "-DOCSTART- O\n\nnumber B-X\n",
        document_context=True,
    )
    label_ids = task.eval_features["label_ids"]
    assert len(label_ids) > 3
    assert ((task.eval_features["input_mask"].sum(axis=1) - 2) > (label_ids >= 0).sum(axis=1)).any()
    scores = task.score(make_logits(label_ids))
    assert (scores["eval_f1"], scores["eval_accuracy"]) == (1, 1)


def test_predictions_for_a_treebank_are_a_treebank(make_task, tmp_path, capsys):
    """Other columns, comments, and multiword tokens are unchanged.

    The scores are those of the same labels.
    """
    row = "{}\t{}\t_\t{}\t_\t_\t_\t_\t_\tX=1\n"
    content = (
        "# text = the lines\n"
        + row.format("1-2", "thelines", "_")
        + row.format(1, "the", "a")
        + row.format(2, "line", "b")
        + "\n"
        + row.format(1, "stops", "c")
        + "\n"
    )
    for split in ("test", "dev"):
        task = make_task(split, content, ("a", "b", "c"), "data.conllu", treebank_column="upos")
        labels = task.features[split]["label_ids"].copy()
        labels[labels != word_features.IGNORED] = [0, 2, 2]
        if split == "test":
            task.predict(lambda *_, labels=labels: make_logits(labels), None, str(tmp_path))
    assert (tmp_path / "test_predictions.conllu").read_text() == content.replace(
        "line\t_\tb", "line\t_\tc"
    )
    assert "3 words, with the predicted labels in the column UPOS\n" in capsys.readouterr().out
    assert task.score(make_logits(labels))["eval_accuracy"] == pytest.approx(2 / 3)


def test_a_model_is_required():
    settings = FineTuningSettings(
        training=TrainingSettings(output_dir="out"),
        do_eval=True,
        task_settings=token_classifier.TokenClassifierSettings(dev_file="dev.txt"),
    )
    with rejects("output_dir", "no tagger", "train first, or set `init", value="out"):
        TokenClassifierTask.open(settings, None).read(None, Padding.STATIC)
