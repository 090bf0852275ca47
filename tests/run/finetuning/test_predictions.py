"""Predictions without training: the diagnostic data of GLUE, and ensembles of runs."""

import shutil

import numpy as np
import pytest

from bert_tf import models
from bert_tf.config import BertConfig
from bert_tf.tasks.metadata import TaskMetadata
from data_prep.datasets.published import NLI_LABELS
from run.training import checkpoints
from tests import scripts, toy_runs
from tests.errors import Message, raises_message, rejects

PAIRS = [("the line stops", "word"), ("the word", "the line"), ("line", "the stops line stops")] * 3


@pytest.fixture(scope="module")
def folder(working_folder, reference):
    """The current directory, with the diagnostic data, and runs and other classifiers of pairs."""
    folder = working_folder

    def write(name, labels=NLI_LABELS, **sizes):
        metadata = TaskMetadata("classifier", 20, True, labels, pairs=True)
        toy_runs.write(
            folder,
            reference,
            {name: (metadata, lambda config: models.BertClassifier(config, 3))},
            **sizes,
        )

    runs = {
        "one": {},
        "two": {},
        "wide": {"hidden_size": 16},
        "others": {"labels": ("a", "b", "c")},
    }
    for name, values in runs.items():
        write(name, **values)
        config = BertConfig.from_json_file(folder / name / "bert_config.json")
        checkpoints.save_only_checkpoint(str(folder / name), models.BertClassifier(config, 3), 3)
    write("weights")
    shutil.copytree(folder / "one", folder / "vocabulary")
    with (folder / "vocabulary" / "vocab.txt").open("r+") as file:
        tokens = file.read().splitlines()
        file.seek(0)
        file.write("\n".join([*tokens[:-2], tokens[-1], tokens[-2]]) + "\n")
    (folder / "ax").mkdir()
    (folder / "ax" / "diagnostic.tsv").write_text(
        "index\tsentence1\tsentence2\n"
        + "".join(f"{number}\t{first}\t{second}\n" for number, (first, second) in enumerate(PAIRS))
    )
    return folder


def predict(output_dir, **flags):
    """Predicts ax; returns the probabilities."""
    scripts.run_here(
        "run.run_classifier",
        **{
            "task_name": "ax",
            "data_dir": "ax",
            "output_dir": output_dir,
            "do_predict": True,
            "max_seq_length": 20,
            **flags,
        },
    )
    return np.loadtxt(output_dir / "test_results.tsv")


@pytest.mark.usefixtures("folder")
def test_a_model_of_mnli_predicts_the_diagnostic_data(tmp_path):
    probabilities = predict(tmp_path, init_checkpoint="one")
    assert (tmp_path / "AX.tsv").read_text() == "index\tprediction\n" + "".join(
        f"{number}\t{NLI_LABELS[row.argmax()]}\n" for number, row in enumerate(probabilities)
    )
    with rejects(None, "task ax has no split 'dev'", "must be one of test"):
        predict(tmp_path, init_checkpoint="one", do_eval=True)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            {"ensemble": "one,ax"},
            Message(
                "ensemble",
                "contains no finished run",
                "name directories such as mrpc/run_1",
                value="ax",
            ),
        ),
        (
            {"ensemble": "one,wide"},
            Message(
                "ensemble",
                "contains a run of another model",
                "hidden_size 16",
                "`bert_config_file` has 8",
                "choose another directory",
                value="wide",
            ),
        ),
        (
            {"ensemble": "one,others"},
            Message(
                "ensemble",
                "contains the run of another task",
                "labels ('a', 'b', 'c')",
                "instead of ('contradiction', 'entailment', 'neutral')",
                "choose another directory",
                value="others",
            ),
        ),
        (
            {"ensemble": "one,vocabulary"},
            Message(
                "vocab_file",
                "differs from the vocabulary",
                "run in `output_dir`",
                "vocabulary/vocab.txt",
                value="one/vocab.txt",
            ),
        ),
        (
            {"ensemble": "one,weights"},
            Message(
                "ensemble",
                "contains no checkpoint to evaluate",
                "train first, or set `init_checkpoint`",
                value="weights",
            ),
        ),
        (
            {"ensemble": "one,two", "output_dir": "two"},
            Message(
                "output_dir",
                "contains a run",
                "choose another directory for the results",
                "`ensemble`",
                value="two",
            ),
        ),
    ],
)
def test_rejected_ensembles(tmp_path, flags, message):
    with raises_message(message):
        predict(**{"output_dir": tmp_path, **flags})
    assert list(tmp_path.iterdir()) == []
