"""Settings of the test processes, and fixtures with numbers computed by the original BERT."""

import gc
import importlib.abc
import importlib.util
import json
import multiprocessing.util
import pathlib
import signal
import sys
import tempfile

import numpy as np
import pytest

from tests import scripts
from tests.scheduling import (  # noqa: F401
    pytest_terminal_summary,
    pytest_xdist_make_scheduler,
)
from tests.timeouts import pytest_timeout_cancel_timer, pytest_timeout_set_timer  # noqa: F401

REFERENCE = pathlib.Path(__file__).parent / "reference"

# A process that a shell starts in the background ignores Ctrl-C, and so do its children. Tests send
# Ctrl-C to some.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


class TensorFlowConfigurator(importlib.abc.MetaPathFinder):
    """Configures TensorFlow when it is imported; tests of tables, for example, do not import it."""

    def find_spec(self, fullname, path, target=None):
        """Returns the specification of TensorFlow, whose execution ends with its configuration."""
        if fullname != "tensorflow":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        execute = spec.loader.exec_module

        def execute_and_configure(module):
            spec.loader.exec_module = execute
            execute(module)
            configure_tensorflow(module)

        spec.loader.exec_module = execute_and_configure
        return spec


def configure_tensorflow(tf):
    """Configures the module of TensorFlow in a process that runs tests."""
    gc.set_threshold(*scripts.COLLECTION)
    switch_autotuning_off()
    # Possible only before the first operation.
    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
    )


sys.meta_path.insert(0, TensorFlowConfigurator())


def switch_autotuning_off():
    """Lets this process create all tf.data iterators without autotuning.

    The end of an iterator waits for the thread that tunes its pipeline. TensorFlow 2.20 wakes the
    thread before it marks the iterator as canceled, so the thread may sleep again: for as long as
    the iterator has existed, at most a minute. If Python's collector ends the iterator, all threads
    wait.
    """
    import tensorflow as tf
    from tensorflow.python.data.ops import dataset_ops

    def without_autotuning(dataset):
        options = tf.data.Options()
        options.autotune.enabled = False
        return dataset.with_options(options)

    # All iterators call this method, also the iterators that a strategy creates for each replica
    # without options.
    dataset_ops.DatasetV2._apply_debug_options = without_autotuning


@pytest.fixture(scope="session", autouse=True)
def temporary_folder(tmp_path_factory):
    """Lets this process, and those that it starts, create temporary files in a new directory.

    It is deleted at the end. Otherwise, files that a process deletes when it exits would stay:
    xdist kills a worker that has not ended after ten seconds, and tests kill scripts.
    """
    # These are not in the new directory: they are used until the process exits.
    tmp_path_factory.getbasetemp()
    multiprocessing.util.get_temp_dir()
    with (
        tempfile.TemporaryDirectory(prefix="tests_", ignore_cleanup_errors=True) as folder,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("TMPDIR", folder)
        patch.setattr(tempfile, "tempdir", None)
        yield folder


@pytest.fixture(scope="session")
def two_replicas():
    """Returns a MirroredStrategy of two logical CPUs.

    A process can have only one, since their collectives collide.
    """
    import tensorflow as tf

    return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


@pytest.fixture(scope="session")
def reference():
    """Returns the directory of reference numbers."""
    return REFERENCE


@pytest.fixture(scope="session")
def reference_config():
    """Returns the BertConfig of the reference models: V=120, H=32, L=2, N=4."""
    from bert_tf.config import BertConfig

    return BertConfig.from_json_file(REFERENCE / "bert_config.json")


@pytest.fixture(scope="session")
def reference_batches():
    """Returns 25 batches, a dict of feature to array [25, B, ...].

    The classifier's `labels` are [25, B].
    """
    with np.load(REFERENCE / "batches.npz") as arrays:
        return dict(arrays)


@pytest.fixture(scope="session")
def reference_schedule():
    """Returns the arguments of create_optimizer in the reference runs."""
    return json.loads((REFERENCE / "schedule.json").read_text())


@pytest.fixture(scope="session")
def reference_numbers():
    """Returns a function from "pretrain" or "classify" to results of the original BERT.

    They are a dict of arrays.
    """

    def read(kind):
        with np.load(REFERENCE / f"{kind}.npz") as arrays:
            return dict(arrays)

    return read
