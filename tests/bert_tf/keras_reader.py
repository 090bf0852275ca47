"""A fresh process that reads saved models and prints, as JSON, how their outputs differ and what was logged.

Arguments: the folder that test_keras_files wrote. Functional models and files with a .keras suffix are read before
anything of bert_tf is imported.
"""

import json
import logging
import pathlib
import sys
import warnings

import numpy as np
import tensorflow as tf
import tf_keras


class Recorder(logging.Handler):
    """Keeps the messages of warnings and errors."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.messages = []

    def emit(self, record):
        self.messages.append(record.getMessage())


def main():
    folder = pathlib.Path(sys.argv[1])
    recorder = Recorder()
    for name in ("absl", "tensorflow", "py.warnings"):
        logging.getLogger(name).addHandler(recorder)
    logging.captureWarnings(True)
    warnings.simplefilter("always")
    with np.load(folder / "features.npz") as arrays:
        features = {name: tf.constant(value) for name, value in arrays.items()}
    differences = {}

    def compare(name, model, served=False):
        inputs = {key: features[key] for key in json.loads((folder / name / "inputs.json").read_text())}
        with np.load(folder / name / "outputs.npz") as expected:
            outputs = model(inputs)
            if served:  # A functional model's signature names the outputs after layers.
                outputs = {key: next(value for value in outputs.values() if value.shape == expected[key].shape)
                           for key in expected.files}
            assert set(outputs) == set(expected.files)
            return max(float(np.abs(tf.cast(outputs[key], tf.float32) - expected[key]).max()) for key in outputs)

    names = [path.parent.name for path in sorted(folder.glob("*/inputs.json"))]
    for name in names:
        assert name != names[0] or "bert_tf" not in sys.modules
        differences[f"{name}.keras"] = compare(name, tf_keras.models.load_model(folder / name / "model.keras"))
    import bert_tf.fast
    import bert_tf.models  # noqa: F401

    for name in names:
        model = tf_keras.models.load_model(folder / name / "saved", compile=(folder / name / "compiled").exists())
        differences[f"{name} SavedModel"] = compare(name, model)
        model = tf_keras.models.load_model(folder / name / "model.keras", compile=False)
        for kind in ("weights.h5", "h5"):
            model.set_weights([np.zeros(weight.shape, np.float32) for weight in model.get_weights()])
            model.load_weights(folder / name / f"model.{kind}")
            differences[f"{name}.{kind}"] = compare(name, model)
        signature = tf.saved_model.load(str(folder / name / "saved")).signatures["serving_default"]
        served = compare(name, lambda inputs, signature=signature: signature(**inputs), served=True)
        differences[f"{name} signature"] = 0.0 if served < 1e-5 or ("bfloat16" in name and served < 0.1) else served
    print(json.dumps({"differences": differences, "messages": recorder.messages}))


if __name__ == "__main__":
    main()
