"""run_classifier --max_windows: training, resuming, and serving.

test_trained_weights trains on windows with several replicas.
"""

import json
import re
import shutil

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.serving import checkpoint, litert
from run.inference.served_models import resolve_checkpoint
from tests import scripts, toy_runs
from tests.end_to_end.toy_files import assert_same_tensors
from tests.errors import Message, raises_message, rejects

pytestmark = pytest.mark.large

LENGTH = 9  # A window has 7 words of a text, or 6 of a pair.
TEXTS = ["class " * number + "line " * (23 - 2 * number) for number in range(12)]
WINDOWS = {"window_stride": 5, "max_windows": 3, "window_pooling": "max"}


@pytest.fixture(scope="module")
def here(working_folder, reference):
    """The current directory, with data and a model without dropout."""
    (working_folder / "data").mkdir()
    for split in ("train", "dev", "test"):
        (working_folder / "data" / f"{split}.tsv").write_text(
            "sentence\tlabel\n"
            + "".join(
                f"{text.strip() or 'line'}\t{'ab'[number % 2]}\n"
                for number, text in enumerate(TEXTS)
            )
        )
    toy_runs.write(
        working_folder,
        reference,
        {"sst": toy_runs.TASKS["sst"]},
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    return working_folder


def tune(output_dir, **flags):
    scripts.run_here(
        "run.run_classifier",
        **{
            "init_checkpoint": "sst",
            "max_seq_length": LENGTH,
            "output_dir": output_dir,
            "train_batch_size": 4,
            "save_checkpoints_steps": 2,
            "learning_rate": 1e-2,
            "num_train_epochs": 2.0,
            "task_name": "custom",
            "data_dir": "data",
            "text_a_column": "sentence",
            **WINDOWS,
            **flags,
        },
    )


def test_a_run_and_its_export(here, capsys):
    tune("run", do_train=True, do_eval=True, do_predict=True)
    said = capsys.readouterr().err
    assert re.search(
        r"train: 12 rows; \d+ rows are longer than --max_seq_length=9 "
        r"and are read in 2.\d windows on average, at most 3",
        said,
    )
    assert re.search(
        r"train: 12 rows; \d rows are truncated, because they do not fit into 3 windows or", said
    )
    kept = json.loads((here / "run" / "task.json").read_text())
    assert [kept[name] for name in ("window_pooling", "window_stride", "max_windows")] == [
        "max",
        5,
        3,
    ]

    shutil.copytree("run", "killed")
    (here / "killed" / "checkpoint").write_text('model_checkpoint_path: "ckpt-2"\n')
    tune("killed", do_train=True)
    assert_same_tensors("killed", "run")

    servable = checkpoint.load_servable(**resolve_checkpoint("run").servable_options)
    answers = servable.answer_texts(text=tf.constant([text.strip() or "line" for text in TEXTS]))
    probabilities = np.loadtxt(here / "run" / "test_results.tsv")
    np.testing.assert_allclose(answers["probabilities"], probabilities, atol=1e-5)
    assert np.ptp(probabilities[:, 0]) > 0.01
    assert answers["was_cut"].numpy().tolist() == [len(text.split()) > 7 + 2 * 5 for text in TEXTS]
    alone = servable.answer_texts(text=tf.constant(TEXTS[1:2]))
    np.testing.assert_allclose(alone["probabilities"][0], probabilities[1], atol=1e-5)
    with rejects(None, "reads long texts in windows", "LiteRT files do not support"):
        litert.convert_servable(
            checkpoint.load_servable(
                **resolve_checkpoint("run").servable_options | {"static_length": True}
            )
        )

    message = Message(
        "output_dir",
        "contains the run of another task",
        "window_pooling 'max' instead of None",
        "choose another directory",
        value="run",
    )
    with raises_message(message):
        tune("run", do_eval=True, **dict.fromkeys(WINDOWS))
    with rejects(
        "output_dir", "`window_stride` 5, not 4", "choose another `output_dir`", value="run"
    ):
        tune("run", window_stride=4, do_train=True)
