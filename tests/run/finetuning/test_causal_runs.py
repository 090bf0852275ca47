"""Fine-tuning of a causal model with a BiLSTM: all tasks, resuming, evaluation, export, and models for other jobs."""

import json
import shutil

import numpy as np
import pytest
import tensorflow as tf

import bert_tf
from bert_tf import models
from bert_tf.checkpoints import convert
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from tests import scripts, toy_runs

SCRIPTS = {"sst": ("run.run_classifier", {"task_name": "sst-2"}), "tagger": ("run.run_tagger", {}),
           "squad": ("run.run_squad", {"doc_stride": 5, "max_query_length": 7})}
REQUESTS = {"sst": {"text": toy_runs.TEXTS},
            "squad": {"question": ["What stops?"], "context": ["The debugger stops at the first line. " * 3]}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory, reference):
    folder = tmp_path_factory.mktemp("causal_runs")
    toy_runs.write_data(folder)
    toy_runs.write(folder, reference, {"bert": (None, models.BertPretrainer)}, attention="causal")
    config = json.loads((folder / "bert" / "bert_config.json").read_text())
    (folder / "bilstm.json").write_text(json.dumps({**config, "bilstm_head": True}))
    return folder


@pytest.fixture
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return folder


def tune(task, output_dir, **flags):
    script, options = SCRIPTS[task]
    scripts.run_here(script, **{
        "init_checkpoint": "bert", "output_dir": output_dir, "max_seq_length": 29, "do_train": True, "do_eval": True,
        "train_batch_size": 3, "bert_config_file": "bilstm.json", "save_checkpoints_steps": 2, "keep_checkpoint_max": 9,
        "learning_rate": 1e-2, **toy_runs.DATA[task], **options, **flags} | (
            {"do_eval": False, "do_predict": True} if task == "squad" else {}))


@pytest.mark.extra_large
@pytest.mark.parametrize("task", REQUESTS)
def test_the_model_keeps_its_attention_and_its_bilstm(here, task):
    """A run's checkpoint, its copy in the original's format, and its SavedModel give the same responses."""
    tune(task, task, num_train_epochs=1.0)
    config = BertConfig.from_json_file(here / task / "bert_config.json")
    assert (config.attention, config.bilstm_head) == ("causal", True)
    convert(task, f"{task}_tf1", "tf1", vocab_file="bert/vocab.txt")
    shutil.copy(here / task / "task.json", f"{task}_tf1")
    scripts.run_here("run.export_saved_model", init_checkpoint=task, export_dir=f"{task}_served")
    expected, *others = (bert_tf.load(f"{task}{end}")(**REQUESTS[task]) for end in ("", "_tf1", "_served"))
    for found in others:
        assert found.keys() == expected.keys()
        for name, value in expected.items():
            if value.dtype.kind == "f":
                np.testing.assert_allclose(found[name], value, rtol=0, atol=1e-5, err_msg=name)
            else:
                np.testing.assert_array_equal(found[name], value, err_msg=name)


@pytest.mark.extra_large
def test_a_resumed_run_and_an_evaluation(here):
    tune("sst", "run", num_train_epochs=1.0)
    finished, results = tf.train.load_checkpoint("run"), (here / "run" / "eval_results.txt").read_text()
    scripts.run_here("run.run_classifier", output_dir="run", do_eval=True, max_seq_length=29, task_name="sst-2",
                     data_dir="sst-2")
    assert (here / "run" / "eval_results.txt").read_text() == results
    (here / "run" / "checkpoint").write_text('model_checkpoint_path: "ckpt-2"\n')
    with pytest.raises(InputError, match=r"contains a run of another model, with bilstm_head True, but `bert_co"):
        tune("sst", "run", num_train_epochs=1.0, bert_config_file="bert/bert_config.json")
    tune("sst", "run", num_train_epochs=1.0)
    resumed = tf.train.load_checkpoint("run")
    names = [name for name in finished.get_variable_to_shape_map() if name != "_CHECKPOINTABLE_OBJECT_GRAPH"]
    assert any("/bilstm/" in name for name in names)
    for name in names:
        np.testing.assert_array_equal(resumed.get_tensor(name), finished.get_tensor(name), err_msg=name)


@pytest.mark.large
def test_jobs_that_read_masks_or_the_first_token(here):
    assert bert_tf.load("bert", max_seq_length=20).kind == "encoder"
    with pytest.raises(InputError, match="is not a masked LM; attention is causal in its config, so it predicts the"):
        bert_tf.load("bert", kind="masked_lm", max_seq_length=20)
    with pytest.raises(InputError, match=r"^`pooling`=cls: with causal attention, .* set `pooling`=mean$"):
        scripts.run_here("run.extract_features", input_file="texts.txt", output_file="a.jsonl", init_checkpoint="bert",
                         pooling="cls", layers="-1", max_seq_length=20)
