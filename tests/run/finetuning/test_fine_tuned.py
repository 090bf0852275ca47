"""FineTunedModel: models of all kinds of tasks, and models derived from them."""

import numpy as np
import pytest

from bert_tf import models
from bert_tf.cli.model_settings import ModelSettings, TokenizerSettings
from bert_tf.errors import InputError
from run.finetuning.fine_tuned_model import FineTunedModel
from run.finetuning.settings import DataSettings, FineTunedSettings
from tests import toy_runs
from tests.settings import resolved

pytestmark = pytest.mark.large


@pytest.fixture(scope="module")
def folder(tmp_path_factory, reference):
    folder = tmp_path_factory.mktemp("fine_tuned")
    toy_runs.write_tasks(folder, reference)
    toy_runs.write(folder, reference, {"headless": (toy_runs.TASKS["sst"][0], models.BertEncoder)})
    return folder


def open_model(name, data):
    settings = FineTunedSettings(ModelSettings(init_checkpoint=name), TokenizerSettings(), DataSettings(**data))
    return FineTunedModel.open(resolved(settings))


@pytest.mark.parametrize("name", list(toy_runs.TASKS))
def test_a_derived_model_has_the_same_outputs(folder, name, monkeypatch):
    monkeypatch.chdir(folder)
    whole = open_model(name, toy_runs.DATA[name])
    written = whole.write(f"{name}_copy", whole.read_tensors(), whole.config)
    copy = open_model(f"{name}_copy", toy_runs.DATA[name])
    assert (copy.path, copy.config, copy.task.metadata) == (written.path, whole.config, whole.task.metadata)
    assert copy.task.data.resolved_settings == whole.task.data.resolved_settings
    outputs, again = whole.predict(whole.make_model()), copy.predict(copy.make_model())
    assert outputs.keys() == again.keys()
    for key, value in outputs.items():
        np.testing.assert_array_equal(value, again[key], err_msg=key)
    assert copy.score() == written.score() == whole.task.score(outputs)


def test_missing_weights_of_the_task(folder, monkeypatch):
    monkeypatch.chdir(folder)
    with pytest.raises(InputError, match="`init_checkpoint`=headless: is not a fine-tuned classifier; it lacks "
                                         "output_weights, output_bias"):
        open_model("headless", {**toy_runs.DATA["sst"], "task_name": "sst-2"}).make_model()
