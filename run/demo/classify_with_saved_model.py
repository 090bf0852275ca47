"""Loads an exported classifier as a server does, and classifies the sentences given as arguments.

Imports TensorFlow and TensorFlow Text, and nothing from this project.
"""

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf
import tensorflow_text  # noqa: F401, registers the tokenizer's kernels


def main(path, *sentences):
    """Classifies sentences, one or more str, with the SavedModel at `path`."""
    classify = tf.saved_model.load(path).signatures["serving_default"]
    outputs = classify(text=tf.constant(sentences))
    for sentence, label, probabilities in zip(
            sentences, outputs["label"].numpy(), outputs["probabilities"].numpy(), strict=True):
        print(f"{label.decode():<20} {probabilities.max():.2f}  {sentence}")
    project_modules = sorted({name.split(".")[0] for name in sys.modules} & {"bert_tf", "data_prep", "run"})
    print(f"modules of this project that were imported: {', '.join(project_modules) or 'none'}")


if __name__ == "__main__":
    main(*sys.argv[1:])
