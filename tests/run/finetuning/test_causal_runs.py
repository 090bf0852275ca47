"""Fine-tuning of a causal model with a BiLSTM, its copies, and models for other jobs."""

import json
import shutil

import numpy as np
import pytest

import bert_tf
from bert_tf import models
from bert_tf.checkpoints import convert
from bert_tf.config import BertConfig
from tests import scripts, toy_runs
from tests.errors import rejects


@pytest.fixture(scope="module", autouse=True)
def folder(working_folder, reference):
    """The current directory, with data, a causal model, and its config with a BiLSTM."""
    toy_runs.write_data(working_folder)
    toy_runs.write(
        working_folder, reference, {"bert": (None, models.BertPretrainer)}, attention="causal"
    )
    config = json.loads((working_folder / "bert" / "bert_config.json").read_text())
    (working_folder / "bilstm.json").write_text(json.dumps({**config, "bilstm_head": True}))
    return working_folder


@pytest.mark.extra_large
def test_the_model_keeps_its_attention_and_its_bilstm(folder):
    """A run's checkpoint, its copy in the original's format, and its SavedModel respond alike."""
    scripts.run_here(
        "run.run_classifier",
        init_checkpoint="bert",
        bert_config_file="bilstm.json",
        max_seq_length=29,
        output_dir="run",
        do_train=True,
        train_batch_size=3,
        num_train_epochs=1.0,
        learning_rate=1e-2,
        task_name="sst-2",
        data_dir="sst-2",
    )
    config = BertConfig.from_json_file(folder / "run" / "bert_config.json")
    assert (config.attention, config.bilstm_head) == ("causal", True)
    convert("run", "tf1", "tf1", vocab_file="bert/vocab.txt")
    shutil.copy(folder / "run" / "task.json", "tf1")
    scripts.run_here("run.export_saved_model", init_checkpoint="run", export_dir="served")
    expected, *others = (
        bert_tf.load(path)(text=toy_runs.TEXTS) for path in ("run", "tf1", "served")
    )
    for found in others:
        np.testing.assert_allclose(
            found["probabilities"], expected["probabilities"], rtol=0, atol=1e-5
        )
        np.testing.assert_array_equal(found["label"], expected["label"])


@pytest.mark.large
def test_jobs_that_read_masks_or_the_first_token():
    assert bert_tf.load("bert", max_seq_length=20).kind == "encoder"
    with rejects(None, "is not a masked LM", "attention is causal in its config", "predicts the"):
        bert_tf.load("bert", kind="masked_lm", max_seq_length=20)
    with rejects("pooling", "with causal attention, ", value="cls"):
        scripts.run_here(
            "run.extract_features",
            input_file="texts.txt",
            output_file="a.jsonl",
            init_checkpoint="bert",
            pooling="cls",
            layers="-1",
            max_seq_length=20,
        )
