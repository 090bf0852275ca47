"""Modules that start quickly import neither TensorFlow nor, if they define no script, flags."""

import os
import subprocess
import sys

import pytest

from bert_tf.tasks import KINDS
from tests import scripts

pytestmark = pytest.mark.extra_large

FREE_OF_TENSORFLOW = (
    "bert_tf.cli.flags",
    "bert_tf.cli.paths",
    "bert_tf.cli.script",
    "data_prep.records",
    "data_prep.processes",
    "data_prep.pretraining.job",
    "data_prep.create_pretraining_data",
    "data_prep.vocabulary.job",
    "data_prep.learn_vocab",
    "bert_tf.serving",
    "run.inference.terminal",
)
FREE_OF_FLAGS_TOO = (
    "bert_tf.cli.settings",
    "bert_tf.config",
    "bert_tf.errors",
    "bert_tf.files",
    "bert_tf.checkpoints.directory",
    "bert_tf.serving.litert",
    "bert_tf.tasks",
    *(f"bert_tf.tasks.{kind}.{module}" for kind in KINDS for module in ("task", "plain")),
    "bert_tf.tokenization",
    "bert_tf.tokenization.unicode_rules",
    "bert_tf.tokenization.vocabulary",
)


def run(code):
    """Runs Python code in a fresh process; returns the words that it prints."""
    environment = {
        name: value for name, value in os.environ.items() if name != "TF_USE_LEGACY_KERAS"
    }
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=scripts.ROOT,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("modules", "unwanted"),
    [
        (FREE_OF_TENSORFLOW, {"tensorflow", "tf_keras", "keras", "numba"}),
        (FREE_OF_FLAGS_TOO, {"tensorflow", "tf_keras", "keras", "absl"}),
        # docs/installation.md: an environment for LiteRT files has none of these.
        (
            ("bert_tf.serving", "bert_tf.serving.litert"),
            {
                "tensorflow",
                "absl",
                "matplotlib",
                "numba",
                "safetensors",
                "scipy",
                "sentencex",
                "sklearn",
                "seqeval",
                "tf_keras",
                "tokenizers",
            },
        ),
        (("data_prep.learn_vocab",), {"tokenizers"}),
        (("bert_tf",), {"tensorflow", "numpy", "absl", "json"}),
    ],
)
def test_modules_without_tensorflow(modules, unwanted):
    loaded = run(
        f"import sys, {', '.join(modules)}\nprint(*{{name.split('.')[0] for name in sys.modules}})"
    )
    assert {"sys", "bert_tf"} <= loaded
    assert not unwanted & loaded, "find out which with python -X importtime"


def test_tensorflow_does_not_import_keras_3():
    assert run(
        "import sys\nfrom bert_tf.cli import script\nscript.prepare_tensorflow()\nimport "
        "tensorflow\nprint(*{'keras', 'tf_keras', 'sklearn', 'matplotlib'} & {*sys.modules})"
    ) == {"tf_keras"}


def test_training_starts_without_packages_for_results():
    unwanted = {"keras", "sklearn", "scipy.stats", "matplotlib", "seqeval"}
    loaded = run(
        "import sys\nfrom bert_tf.cli import script\nscript.prepare_tensorflow()\n"
        "import run.finetuning.job, run.pretraining.job\nfrom run.finetuning.tasks import TASKS\n"
        "kinds = list(TASKS.values())\nprint(*sys.modules)"
    )
    assert {"tensorflow", "run.finetuning.tasks.classifier"} <= loaded
    assert not unwanted & loaded, "find out which with python -X importtime"


def test_only_the_kind_in_use_is_imported():
    loaded = run(
        "import sys\nfrom data_prep.tasks import DATA\nDATA['classifier']\nprint(*sys.modules)"
    )
    assert "data_prep.tasks.classifier" in loaded
    assert not {"data_prep.datasets.conll", "data_prep.tasks.squad"} & loaded


def test_the_package_imports_names_on_first_use():
    run(
        "import sys, bert_tf\nassert set(bert_tf.__all__) <= set(dir(bert_tf))\nassert "
        "'bert_tf.config' not in sys.modules\nassert bert_tf.BertConfig.__module__ == "
        "'bert_tf.config'\nassert 'tensorflow' not in sys.modules\nassert {getattr(bert_tf, "
        "name).__name__ for name in bert_tf.__all__} == set(bert_tf.__all__)\nassert not "
        "hasattr(bert_tf, 'UnknownName')\nfrom bert_tf import *\nassert BertTokenizer.__module__ "
        "== 'bert_tf.tokenization.tokenizer'\n"
    )
