"""Models in a process whose kernels keep copies of their weights, as docs/serving.md recommends."""

import json

import numpy as np
import pytest

from run.training import strategies
from run.training.settings import DeviceSettings
from tests import scripts
from tests.errors import rejects
from tests.toy_servables import LOAD_OPTIONS, REQUESTS

# Answers two requests per model, so that the second one uses the copies.
PROCESS = """
import json, sys
import numpy as np
import bert_tf
import tensorflow as tf

arrays = {}
for number, (path, options, request) in enumerate(json.loads(sys.argv[1])):
    model = bert_tf.load(path, **options)
    for turn in range(2):
        for name, value in model(**request).items():
            arrays[f"{number}/{turn}/{name}"] = np.asarray(value)
kernel = tf.Variable(tf.ones([256, 256]))
rows = tf.ones([32, 256])
bias = tf.zeros([256])  # Not in the function, which would not add zeros.
multiply = tf.function(lambda: tf.nn.bias_add(tf.matmul(rows, kernel), bias))
multiply()
kernel.assign(2 * kernel)
arrays["is_frozen"] = multiply()[0, 0].numpy() == 256
np.savez(sys.argv[2], **arrays)
"""


@pytest.mark.extra_large
@pytest.mark.timeout(300)
def test_outputs_are_unchanged(toy_checkpoints, toy_saved_models, tmp_path):
    models = [
        (str(folder / name), LOAD_OPTIONS.get(name, {}) if has_options else {}, REQUESTS[name])
        for folder, has_options in ((toy_checkpoints, True), (toy_saved_models, False))
        for name in REQUESTS
    ]
    outputs = {}
    for value in ("0", "1"):
        done = scripts.run_python(
            *("-c", PROCESS, json.dumps(models), tmp_path / f"{value}.npz"),
            **{strategies.FROZEN_WEIGHTS: value},
        )
        assert done.returncode == 0, done.stderr[-3000:]
        outputs[value] = np.load(tmp_path / f"{value}.npz", allow_pickle=True)
    names = {*outputs["0"].files} - {"is_frozen"}
    assert len(names) > 4 * len(REQUESTS)
    assert not outputs["0"]["is_frozen"]
    if not outputs["1"]["is_frozen"]:
        pytest.skip("TensorFlow uses no kernels of oneDNN on this CPU")
    for name in names:
        expected = outputs["0"][name]
        found = outputs["1"][name]
        if expected.dtype.kind == "f":
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5, err_msg=name)
        else:
            np.testing.assert_array_equal(found, expected, err_msg=name)


@pytest.mark.parametrize("value", ["1", "true"])
def test_training_rejects_the_variable(monkeypatch, value):
    monkeypatch.setenv(strategies.FROZEN_WEIGHTS, value)
    with rejects(None, strategies.FROZEN_WEIGHTS, "first weights", end="unset it"):
        strategies.make_strategy(DeviceSettings())


def test_inference_accepts_the_variable(monkeypatch):
    monkeypatch.setenv(strategies.FROZEN_WEIGHTS, "1")
    strategies.make_strategy(DeviceSettings(), changes_weights=False)
