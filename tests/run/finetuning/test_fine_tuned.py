"""FineTunedModel: models of all kinds of tasks, and models derived from them."""

import numpy as np
import pytest

from bert_tf.cli.model_settings import ModelSettings, TokenizerSettings
from run.finetuning.fine_tuned_model import FineTunedModel
from run.finetuning.settings import DataSettings, FineTunedSettings
from tests import toy_runs
from tests.settings import resolved


@pytest.mark.large
@pytest.mark.usefixtures("in_toys")
@pytest.mark.parametrize("name", toy_runs.TASKS)
def test_a_derived_model_has_the_same_outputs(tmp_path, name):
    def open_model(path):
        return FineTunedModel.open(
            resolved(
                FineTunedSettings(
                    ModelSettings(init_checkpoint=path),
                    TokenizerSettings(),
                    DataSettings(**toy_runs.DATA[name]),
                )
            )
        )

    whole = open_model(name)
    written = whole.write(str(tmp_path / "copy"), whole.read_tensors(), whole.config)
    copy = open_model(str(tmp_path / "copy"))
    assert (copy.path, copy.config, copy.task.metadata) == (
        written.path,
        whole.config,
        whole.task.metadata,
    )
    assert copy.task.data.resolved_settings == whole.task.data.resolved_settings
    outputs = whole.predict(whole.make_model())
    again = copy.predict(copy.make_model())
    assert outputs.keys() == again.keys()
    for key, value in outputs.items():
        np.testing.assert_array_equal(value, again[key], err_msg=key)
    assert copy.score() == written.score() == whole.task.score(outputs)
