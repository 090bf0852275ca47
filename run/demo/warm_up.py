"""Compiles what the first command of a user would compile: `make setup` ends with this process.

Python stores its bytecode, and numba the compiled functions that create records, next to the source
files, if these directories can be written. Otherwise, nothing is stored, and the first commands are
slower.
"""

import contextlib
import importlib
import io
import os
import pkgutil
import tempfile

from bert_tf.cli import script
from bert_tf.tokenization.vocabulary import VOCABULARY_NAME

# What jobs import late, with the first score, plot, or TensorBoard event.
LATE_MODULES = (
    "matplotlib.backends.backend_agg",
    "matplotlib.figure",
    "scipy.stats",
    "seqeval.metrics",
    "sklearn.metrics",
    "tensorboard.summary.v1",
    "tqdm",
)
OPTIONAL_MODULES = ("data_prep.pretraining.beam_runner",)  # Imports Apache Beam.
SENTENCES = ("a line of text", "the next line", "", "another document", "its second line")
VOCABULARY = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz")
CONTINUATIONS = tuple(f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz")


def find_modules():
    """Yields the names of this project's modules that are not scripts.

    Modules that import an optional package are omitted.
    """
    for top in ("bert_tf", "data_prep", "run"):
        package = importlib.import_module(top)
        for found in pkgutil.walk_packages(package.__path__, f"{top}."):
            is_script = top != "bert_tf" and found.name.count(".") == 1 and not found.ispkg
            if not (is_script or found.name.endswith("__main__") or found.name in OPTIONAL_MODULES):
                yield found.name


def create_toy_records(folder):
    """Creates records of two short documents in `folder`."""
    paths = {
        name: os.path.join(folder, name) for name in ("text.txt", VOCABULARY_NAME, "train.tfrecord")
    }
    for name, lines in (
        ("text.txt", SENTENCES),
        (VOCABULARY_NAME, (*VOCABULARY, *CONTINUATIONS)),
    ):
        with open(paths[name], "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
    command = importlib.import_module("data_prep.create_pretraining_data").COMMAND
    settings = command.settings.replace_values(
        {
            "input_file": paths["text.txt"],
            "vocab_file": paths[VOCABULARY_NAME],
            "output_file": paths["train.tfrecord"],
        }
    )
    importlib.import_module("data_prep.pretraining.job").run(settings)


def main():
    """Imports all modules, and creates records in a temporary directory."""
    script.prepare_tensorflow()
    for name in (*find_modules(), *LATE_MODULES):
        importlib.import_module(name)
    output = io.StringIO()
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(output),  # The progress bar.
    ):
        create_toy_records(folder)


if __name__ == "__main__":
    main()
