"""Loads saved models in a fresh process and compares their outputs.

Prints the largest differences as JSON. The argument is the directory that test_keras_files wrote.
"""

import json
import pathlib
import sys

import numpy as np
import tensorflow as tf
import tf_keras

import bert_tf.fast
import bert_tf.models  # noqa: F401


def measure_difference(folder, model, is_signature=False):
    """Returns the largest difference of a model's outputs from the expected ones."""
    inputs, expected = (dict(np.load(folder / f"{name}.npz")) for name in ("inputs", "outputs"))
    inputs = {name: tf.constant(value) for name, value in inputs.items()}
    outputs = model(**inputs) if is_signature else model(inputs)
    if is_signature:  # A functional model's signature names the outputs after layers.
        outputs = {
            name: next(output for output in outputs.values() if output.shape == value.shape)
            for name, value in expected.items()
        }
    assert outputs.keys() == expected.keys()
    return max(
        float(np.abs(tf.cast(outputs[name], tf.float32) - value).max())
        for name, value in expected.items()
    )


def main():
    differences = {}
    folders = sorted(path.parent for path in pathlib.Path(sys.argv[1]).glob("*/model.keras"))
    for folder in folders:
        model = tf_keras.models.load_model(folder / "model.keras")
        differences[f"{folder.name} .keras"] = measure_difference(folder, model)
        model.set_weights([np.zeros(weight.shape, np.float32) for weight in model.get_weights()])
        model.load_weights(folder / "model.weights.h5")
        differences[f"{folder.name} .weights.h5"] = measure_difference(folder, model)
    for folder in folders:
        model = tf_keras.models.load_model(folder / "saved")
        differences[f"{folder.name} SavedModel"] = measure_difference(folder, model)
        signature = tf.saved_model.load(str(folder / "saved")).signatures["serving_default"]
        differences[f"{folder.name} signature"] = measure_difference(
            folder, signature, is_signature=True
        )
    print(json.dumps(differences))


if __name__ == "__main__":
    main()
