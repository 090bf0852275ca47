"""A fresh process that loads saved models and prints, as JSON, the largest difference of their outputs.

Its argument is the directory that test_keras_files wrote. It loads .keras files before it imports bert_tf.
"""

import json
import pathlib
import sys

import numpy as np
import tensorflow as tf
import tf_keras

folders = sorted(path.parent for path in pathlib.Path(sys.argv[1]).glob("*/model.keras"))
differences = {}


def compare(kind, folder, model):
    """Compares a model's outputs with the expected ones."""
    inputs, expected = (dict(np.load(folder / f"{name}.npz")) for name in ("inputs", "outputs"))
    outputs = model({name: tf.constant(value) for name, value in inputs.items()})
    assert outputs.keys() == expected.keys()
    differences[f"{folder.name} {kind}"] = max(
        float(np.abs(tf.cast(outputs[name], tf.float32) - value).max()) for name, value in expected.items())


assert "bert_tf" not in sys.modules
for folder in folders:
    model = tf_keras.models.load_model(folder / "model.keras")
    compare(".keras", folder, model)
    model.set_weights([np.zeros(weight.shape, np.float32) for weight in model.get_weights()])
    model.load_weights(folder / "model.weights.h5")
    compare(".weights.h5", folder, model)

import bert_tf.fast  # noqa: E402
import bert_tf.models  # noqa: E402, F401

for folder in folders:
    compare("SavedModel", folder, tf_keras.models.load_model(folder / "saved"))
    signature = tf.saved_model.load(str(folder / "saved")).signatures["serving_default"]
    expected = dict(np.load(folder / "outputs.npz"))

    def serve(inputs, signature=signature, expected=expected):
        # A functional model's signature names the outputs after layers.
        outputs = signature(**inputs).values()
        return {name: next(output for output in outputs if output.shape == value.shape)
                for name, value in expected.items()}
    compare("signature", folder, serve)
print(json.dumps(differences))
