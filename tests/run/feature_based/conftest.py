"""A model of four layers without a task, and labeled sentences. Tests write to other directories of the same parent."""

import random

import pytest

from bert_tf import models
from tests import toy_runs

WORDS = ["the O", "debugger B-TOOL", "stops O", "line B-PLACE", "word I-PLACE", "number O", "at O"]


@pytest.fixture(scope="session")
def folder(tmp_path_factory, reference):
    folder = tmp_path_factory.mktemp("frozen")
    toy_runs.write(folder, reference, {"model": (None, models.BertEncoder)}, num_hidden_layers=4)
    rng = random.Random(1)
    sentences = ["".join(f"{row}\n" for row in rng.choices(WORDS, k=rng.randint(1, 9))) for _ in range(24)]
    (folder / "train.txt").write_text("\n".join(["-DOCSTART- O\n", *sentences[:9], "-DOCSTART- O\n", *sentences[9:]]))
    (folder / "dev.txt").write_text("\n".join(sentences[:7]))
    return folder
