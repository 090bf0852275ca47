"""Fixtures that the whole suite shares: the reference numbers computed with the original."""

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

# What is started in the background ignores Ctrl-C, and so would all processes that tests start, also those that are to
# be stopped by one.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

standard_error = None  # a file descriptor of what the tests' capturing does not reach


# Under `--dist=loadscope --no-loadscope-reorder` workers take whole modules in this order: the longest begin, so that
# all workers end at about the same time.
LONGEST_FIRST = ("end_to_end", "benchmarks", "bert_tf/export", "run/training", "robustness", "run/compression",
                 "run/pretraining", "run/test_", "data_prep", "bert_tf/litert", "test_gpu_kernels")


def pytest_collection_modifyitems(items):
    """Puts the modules that take longest first; those that they test are imported by now."""
    fork_server.measure_toy_products()

    def place(item):
        path = item.path.relative_to(REFERENCE.parent).as_posix()
        return next((place for place, start in enumerate(LONGEST_FIRST) if path.startswith(start)), len(LONGEST_FIRST))

    items.sort(key=place)


def pytest_timeout_set_timer(settings):
    """Lets a test that stands still show the stacks of all threads and end its process, a worker of pytest-xdist too.

    pytest-timeout's own timers are Python code: they wait while C++ code holds the interpreter's lock, as the end of a
    tf.data iterator does, and a worker's terminal, on which they write, shows nothing.
    """
    faulthandler.dump_traceback_later(settings.timeout, exit=True, file=standard_error)
    return True


def pytest_timeout_cancel_timer():
    faulthandler.cancel_dump_traceback_later()
    return True


def pytest_configure(config):
    """Starts the one fork server of all workers of pytest-xdist; in whatever runs tests, readies TensorFlow.

    The process that only hands out tests to workers need not import TensorFlow.
    """
    global standard_error
    standard_error = os.dup(2)
    if config.getoption("dist", "no") != "no" and not hasattr(config, "workerinput"):
        scripts.server_address()
        return
    import tensorflow as tf

    gc.set_threshold(*fork_server.COLLECTION)
    fork_server.switch_autotuning_off()
    # Must come before anything runs on a device.
    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2)


@pytest.fixture(scope="session")
def two_replicas():
    """A MirroredStrategy over two logical CPU devices: one for all, as the collectives of two in a process collide."""
    import tensorflow as tf

    return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


@pytest.fixture(scope="session")
def reference():
    """The folder of reference vectors."""
    return REFERENCE


@pytest.fixture(scope="session")
def reference_config():
    """BertConfig of the reference models: V=120, H=32, L=2, N=4."""
    from bert_tf.config import BertConfig

    return BertConfig.from_json_file(REFERENCE / "bert_config.json")


@pytest.fixture(scope="session")
def reference_batches():
    """25 batches: feature name -> array [25, B, ...], with the classifier's `labels` [25, B]."""
    with np.load(REFERENCE / "batches.npz") as arrays:
        return dict(arrays)


@pytest.fixture(scope="session")
def reference_schedule():
    """Keyword arguments of create_optimizer in the reference runs."""
    return json.loads((REFERENCE / "schedule.json").read_text())


@pytest.fixture(scope="session")
def reference_numbers():
    """(kind) -> dict of arrays: what the original computed for "pretrain" or "classify"."""
    def read(kind):
        with np.load(REFERENCE / f"{kind}.npz") as arrays:
            return dict(arrays)
    return read
