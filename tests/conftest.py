"""Settings of the test processes, and fixtures with numbers computed by the original BERT."""

import faulthandler
import gc
import json
import os
import pathlib
import signal

import numpy as np
import pytest

from tests import fork_server, scripts

REFERENCE = pathlib.Path(__file__).parent / "reference"

# A process that a shell starts in the background ignores Ctrl-C, and so do its children. Tests send Ctrl-C to some.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

UNMARKED = "not large and not extra_large"  # The expression of `make test-quick`.

standard_error = None  # File descriptor that pytest does not capture.


def pytest_timeout_set_timer(settings):
    """Prints the stacks of all threads after a timeout, and ends the process.

    The timers of pytest-timeout are Python code. They wait if C++ code holds the interpreter's lock, for example at the
    end of a tf.data iterator, and the output of a pytest-xdist worker is not visible.
    """
    faulthandler.dump_traceback_later(settings.timeout, exit=True, file=standard_error)
    return True


def pytest_timeout_cancel_timer():
    faulthandler.cancel_dump_traceback_later()
    return True


def pytest_configure(config):
    """Starts the fork server for all workers of pytest-xdist, or configures TensorFlow in a process that runs tests."""
    global standard_error
    standard_error = os.dup(2)
    if config.getoption("dist", "no") != "no" and not hasattr(config, "workerinput"):
        if config.getoption("markexpr") != UNMARKED:
            scripts.server_address()
        return
    import tensorflow as tf

    gc.set_threshold(*fork_server.COLLECTION)
    fork_server.switch_autotuning_off()
    # Possible only before the first operation.
    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2)


@pytest.fixture(scope="session")
def two_replicas():
    """Returns a MirroredStrategy of two logical CPUs. A process can have only one, since their collectives collide."""
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
    """Returns 25 batches: dict of feature -> array [25, B, ...], with the classifier's `labels` [25, B]."""
    with np.load(REFERENCE / "batches.npz") as arrays:
        return dict(arrays)


@pytest.fixture(scope="session")
def reference_schedule():
    """Returns the arguments of create_optimizer in the reference runs."""
    return json.loads((REFERENCE / "schedule.json").read_text())


@pytest.fixture(scope="session")
def reference_numbers():
    """Returns a function from "pretrain" or "classify" to a dict of arrays, the results of the original BERT."""
    def read(kind):
        with np.load(REFERENCE / f"{kind}.npz") as arrays:
            return dict(arrays)
    return read
