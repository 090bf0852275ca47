"""The messages of TensorFlow's import, which scripts hide."""

import pytest

from bert_tf import tensorflow_messages
from tests import scripts
from tests.variants import mark_variants

# What TensorFlow 2.21.0 writes when it is imported on a machine without a GPU.
STANDARD_ERROR = """\
before
WARNING: All log messages before absl::InitializeLog() is called are written to STDERR
I0000 00:00:1795900420.580199   14772 port.cc:153] oneDNN custom operations are on.
W0000 00:00:1795900703.001141   16845 cache_dataset_ops.cc:912] The iterator is not finished.
E0000 00:00:1795900709.579945   17140 cuda_platform.cc:52] failed call to cuInit
"""
# A package that writes such messages, and a line through Python's standard error.
PACKAGE = f"""
import os, sys
os.write(2, {STANDARD_ERROR!r}.encode())
print("during", file=sys.stderr)
"""
IMPORT = "from bert_tf.cli import script; script.prepare_tensorflow(); import tensorflow"


@pytest.mark.parametrize(("level", "kept"), [(1, "WE"), (2, "E"), (3, "")])
def test_messages_below_the_level_are_hidden(level, kept):
    lines = STANDARD_ERROR.splitlines(keepends=True)
    expected = [lines[0], *(line for line in lines[2:] if line[0] in kept)]
    assert list(tensorflow_messages.select_lines(lines, level)) == expected


@pytest.mark.large
@pytest.mark.parametrize(
    ("level", "expected"),
    [
        ("0", STANDARD_ERROR + "during\n"),
        ("2", f"before\n{STANDARD_ERROR.splitlines(keepends=True)[-1]}during\n"),
        ("3", "before\nduring\n"),
    ],
)
def test_a_level_that_a_user_sets_is_kept(tmp_path, level, expected):
    (tmp_path / "tensorflow.py").write_text(PACKAGE)
    path = f"{tmp_path}:{scripts.ROOT}"
    done = scripts.run_python("-c", IMPORT, PYTHONPATH=path, TF_CPP_MIN_LOG_LEVEL=level)
    assert (done.returncode, done.stderr) == (0, expected)


@pytest.mark.large
def test_lines_before_an_error_of_the_import_are_shown(tmp_path):
    (tmp_path / "tensorflow.py").write_text(PACKAGE + "raise ImportError('no library')\n")
    path = f"{tmp_path}:{scripts.ROOT}"
    done = scripts.run_python("-c", IMPORT, PYTHONPATH=path, TF_CPP_MIN_LOG_LEVEL="3")
    assert done.stderr.startswith("before\nduring\nTraceback")
    assert done.stderr.endswith("ImportError: no library\n")


@pytest.mark.large
@pytest.mark.parametrize("level", mark_variants([{}, {"TF_CPP_MIN_LOG_LEVEL": "3"}], {}))
def test_the_import_of_tensorflow_is_silent(level):
    done = scripts.run_python(
        "-c", f"{IMPORT}; tensorflow.reduce_sum(tensorflow.ones([2]))", **level
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
