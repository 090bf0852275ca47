"""What must start in a moment imports neither TensorFlow nor, where it is no command line, flags."""

import os
import subprocess
import sys

import pytest

from tests import scripts

FREE_OF_TENSORFLOW = ("bert_tf.cli.flags", "bert_tf.cli.paths", "bert_tf.cli.script", "data_prep.records",
                      "data_prep.pretraining.shards", "data_prep.pretraining.job", "data_prep.create_pretraining_data",
                      "data_prep.vocabulary.job", "data_prep.learn_vocab", "bert_tf.serving",
                      "run.inference.terminal")
FREE_OF_FLAGS_TOO = ("bert_tf.cli.settings", "bert_tf.config", "bert_tf.errors", "bert_tf.files",
                     "bert_tf.litert.model", "bert_tf.model_folder", "bert_tf.tasks", "bert_tf.tokenization",
                     "bert_tf.tokenization.unicode_rules", "bert_tf.tokenization.vocabulary")


def loaded_by(*modules):
    """The top-level packages that a fresh process has loaded after importing modules."""
    code = f"import sys, {', '.join(modules)}\nprint(*{{name.split('.')[0] for name in sys.modules}})"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                              cwd=scripts.ROOT).stdout.split())


@pytest.mark.parametrize(("modules", "unwanted"), [
    (FREE_OF_TENSORFLOW, {"tensorflow", "tf_keras", "keras", "numba"}),
    (FREE_OF_FLAGS_TOO, {"tensorflow", "tf_keras", "keras", "absl"}),
])
def test_imports_that_are_cheap(modules, unwanted):
    loaded = loaded_by(*modules)
    assert {"sys", "bert_tf"} <= loaded
    assert not unwanted & loaded, "find out which with python -X importtime"


def test_tensorflow_does_not_import_keras_3():
    code = ("import sys\nfrom bert_tf.cli import script\nscript.prepare_tensorflow()\nimport tensorflow\n"
            "print(*{'keras', 'tf_keras', 'sklearn', 'matplotlib'} & {*sys.modules})\n")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=scripts.ROOT,
                          env={name: value for name, value in os.environ.items() if name != "TF_USE_LEGACY_KERAS"})
    assert done.stdout.split() == ["tf_keras"]


def test_the_face_of_tokenization_imports_what_is_asked_for():
    code = ("import sys\nfrom bert_tf import tokenization\n"
            "assert tokenization.read_vocabulary.__module__ == 'bert_tf.tokenization.vocabulary'\n"
            "assert tokenization.UNICODE_VERSION\n"
            "assert 'tensorflow' not in sys.modules\n"
            "assert all(hasattr(tokenization, name) for name in tokenization.__all__)\n"
            "assert set(tokenization.__all__) <= set(dir(tokenization))\n"
            "assert 'tensorflow' in sys.modules\n"
            "assert not hasattr(tokenization, 'PieceSplitter')\n"
            "from bert_tf.tokenization import *\n"
            "assert BertTokenizer.__module__ == 'bert_tf.tokenization.tokenizer'\n")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=scripts.ROOT)
    assert done.returncode == 0, done.stderr
