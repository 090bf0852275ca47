"""The file of tests/reference/guards/, whose values do not depend on the machine."""

import dataclasses
import hashlib
import json
import pathlib
import tempfile

import numpy as np
import tensorflow as tf

from bert_tf import models
from bert_tf.config import BertConfig
from tests.guards import cases, checkpoints, operations, toy

PATH = pathlib.Path(__file__).parents[1] / "reference" / "guards" / "guards.json"
TRAINED = (
    "classifier",
    "windows",
    "tagger",
    "squad_v2",
    "multiple_choice",
    "pretraining",
    "packed_pretraining",
    "lora",
    "theseus",
    "narrow_student",
    "frozen_features",
    "classifier_float16",
)
ROUNDED = ("classifier_float16",)  # Their weights depend on the rounding of the machine.
TOLERANCE = 1e-4  # Relative, as in the reference runs; for the checksum, relative to the norms.
MODELS = {  # The models that others build on.
    "models/encoder": models.BertEncoder,
    "models/pretrainer": models.BertPretrainer,
    "models/classifier": lambda config: models.BertClassifier(config, 3),
    "models/token_classifier": lambda config: models.BertTokenClassifier(config, 3),
    "models/span_labeler": models.BertSpanLabeler,
    "models/multiple_choice": models.BertMultipleChoice,
}
SIZES = {  # Changes to the config of a BertPretrainer.
    "models/factorized": {"embedding_size": 12},
    "models/shared": {"num_hidden_groups": 1},
    "models/pruned": {"attention_heads_per_layer": (1, 3), "intermediate_size_per_layer": (7, 9)},
}


def read(kind):
    """Reads one of the dicts "object_graphs", "summaries", and "operations"."""
    return json.loads(PATH.read_text(encoding="utf-8"))[kind]


def digest(lines):
    """Returns a digest of an object graph."""
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def digest_model(name):
    """Returns the digest of the object graph of one of MODELS or SIZES.

    `tf.train.Checkpoint` writes the graph.
    """
    config = dataclasses.replace(BertConfig(**toy.CONFIG), **SIZES.get(name, {}))
    with tempfile.TemporaryDirectory() as folder:
        tf.train.Checkpoint(model=MODELS.get(name, models.BertPretrainer)(config)).write(
            f"{folder}/model"
        )
        return digest(checkpoints.list_variables(pathlib.Path(folder)))


def find_difference(expected, found):
    """Describes how a summary differs from the expected one; returns "" within TOLERANCE."""
    scale = {**expected, "checksum": np.hypot(expected["weights"], expected["others"])}
    return ", ".join(
        f"{key}: {found[key]!r} instead of {value!r}"
        for key, value in expected.items()
        if not abs(found[key] - value) <= TOLERANCE * scale[key]
    )


def describe_increase(expected, found):
    """Describes counts of operations whose sum is higher than expected. Returns "" if it is not."""
    if sum(found.values()) <= sum(expected.values()):
        return ""
    return f"{sum(found.values())} operations, not {sum(expected.values())}: " + ", ".join(
        f"{kind} {expected.get(kind, 0)} -> {found.get(kind, 0)}"
        for kind in sorted({*found, *expected})
        if found.get(kind, 0) != expected.get(kind, 0)
    )


def write():
    """Runs TRAINED, and writes the file."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        toy.write(folder)
        for name in TRAINED:
            cases.run(name, folder)
        values = {
            "object_graphs": {
                **{name: digest_model(name) for name in (*MODELS, *SIZES)},
                **{name: digest(checkpoints.list_variables(folder / name)) for name in TRAINED},
            },
            "summaries": {
                name: checkpoints.summarize(checkpoints.read(folder / name))
                for name in TRAINED
                if name not in ROUNDED
            },
            "operations": {
                **{
                    f"training/{name}": operations.count_training(name, folder)
                    for name in operations.TRAINED
                },
                **{
                    f"export/{name}": operations.count_export(name, folder)
                    for name in operations.EXPORTS
                },
            },
        }
    PATH.write_text(json.dumps(values, indent=1, sort_keys=True) + "\n", encoding="utf-8")
