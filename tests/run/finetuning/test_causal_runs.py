"""Fine-tuning of a causal model with a BiLSTM, its copies, and models for other jobs."""

import json
import shutil

import numpy as np
import pytest

import bert_tf
from bert_tf import models
from bert_tf.checkpoints import convert
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from tests import scripts, toy_runs

FLAGS = {"init_checkpoint": "bert", "max_seq_length": 29, "do_train": True, "train_batch_size": 3,
         "bert_config_file": "bilstm.json", "learning_rate": 1e-2, "num_train_epochs": 1.0}
TASKS = {  # Directory -> script, its flags, and a request.
    "sst": ("run.run_classifier", {"task_name": "sst-2", "do_eval": True}, {"text": toy_runs.TEXTS}),
    "squad": ("run.run_squad", {"doc_stride": 5, "max_query_length": 7, "do_predict": True},
              {"question": ["What stops?"], "context": ["The debugger stops at the first line. " * 3]}),
}


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory, reference):
    """The current directory, with data, a causal model, and its config with a BiLSTM."""
    folder = tmp_path_factory.mktemp("causal_runs")
    toy_runs.write_data(folder)
    toy_runs.write(folder, reference, {"bert": (None, models.BertPretrainer)}, attention="causal")
    config = json.loads((folder / "bert" / "bert_config.json").read_text())
    (folder / "bilstm.json").write_text(json.dumps({**config, "bilstm_head": True}))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield folder


@pytest.mark.extra_large
@pytest.mark.parametrize("task", TASKS)
def test_the_model_keeps_its_attention_and_its_bilstm(folder, task):
    """A run's checkpoint, its copy in the original's format, and its SavedModel give the same responses."""
    script, flags, request = TASKS[task]
    scripts.run_here(script, output_dir=task, **FLAGS, **toy_runs.DATA[task], **flags)
    config = BertConfig.from_json_file(folder / task / "bert_config.json")
    assert (config.attention, config.bilstm_head) == ("causal", True)
    convert(task, f"{task}_tf1", "tf1", vocab_file="bert/vocab.txt")
    shutil.copy(folder / task / "task.json", f"{task}_tf1")
    scripts.run_here("run.export_saved_model", init_checkpoint=task, export_dir=f"{task}_served")
    expected, *others = (bert_tf.load(f"{task}{end}")(**request) for end in ("", "_tf1", "_served"))
    for found in others:
        assert found.keys() == expected.keys()
        for name, value in expected.items():
            if value.dtype.kind == "f":
                np.testing.assert_allclose(found[name], value, rtol=0, atol=1e-5, err_msg=name)
            else:
                np.testing.assert_array_equal(found[name], value, err_msg=name)


@pytest.mark.large
def test_jobs_that_read_masks_or_the_first_token():
    assert bert_tf.load("bert", max_seq_length=20).kind == "encoder"
    with pytest.raises(InputError, match="is not a masked LM; attention is causal in its config, so it predicts the"):
        bert_tf.load("bert", kind="masked_lm", max_seq_length=20)
    with pytest.raises(InputError, match=r"^`pooling`=cls: with causal attention, .* set `pooling`=mean$"):
        scripts.run_here("run.extract_features", input_file="texts.txt", output_file="a.jsonl", init_checkpoint="bert",
                         pooling="cls", layers="-1", max_seq_length=20)
