"""Importing the library, loading a model, and predictions change nothing global in a process."""

import json

import pytest

from tests import scripts
from tests.toy_servables import LOAD_OPTIONS, REQUESTS

pytestmark = pytest.mark.extra_large

# Prints the parts of the state of the process that change. What TensorFlow and the other libraries
# change when they are imported and first used is not this project's: that is before the comparison.
PROCESS = """
import gc, importlib, json, locale, logging, os, pkgutil, random, signal, sys, threading, warnings

import absl.flags
import ai_edge_litert.compiled_model, scipy.stats, tensorflow as tf, tensorflow_text, tf_keras
import numpy as np

tf.random.uniform([3]).numpy()
gc.collect()


def get_state():
    names = sorted(logging.root.manager.loggerDict)
    loggers = [logging.root, *(logging.getLogger(name) for name in names)]
    return {
        "excepthook": (
            sys.excepthook,
            threading.excepthook,
            sys.unraisablehook,
            sys.displayhook,
        ),
        "signals": {number: signal.getsignal(number) for number in signal.valid_signals()},
        "wakeup": signal.set_wakeup_fd(signal.set_wakeup_fd(-1)),
        "gc": (gc.isenabled(), gc.get_threshold(), gc.get_freeze_count(), gc.get_debug()),
        "environ": dict(os.environ),
        "locale": locale.setlocale(locale.LC_ALL),
        "cwd": os.getcwd(),
        "logging": [
            (logger.name, logger.level, list(logger.handlers), logger.disabled, logger.propagate)
            for logger in loggers
            if not logger.name.startswith("bert_tf")
        ],
        "logger class": logging.getLoggerClass(),
        "warnings": (list(warnings.filters), warnings.showwarning),
        "flags": sorted(absl.flags.FLAGS),
        "threads": [thread.name for thread in threading.enumerate()],
        "path": list(sys.path),
        "recursion": sys.getrecursionlimit(),
        "switch": sys.getswitchinterval(),
        "streams": (sys.stdin, sys.stdout, sys.stderr, os.fstat(1), os.fstat(2)),
        "umask": os.umask(os.umask(0)),
        "cores": os.sched_getaffinity(0),
        "random": (random.getstate(), str(np.random.get_state())),
        "keras": (tf_keras.backend.floatx(), tf_keras.mixed_precision.global_policy().name),
        "tensorflow": (
            tf.config.optimizer.get_jit(),
            tf.config.optimizer.get_experimental_options(),
            tf.config.threading.get_intra_op_parallelism_threads(),
            tf.get_logger().level,
            tf.config.experimental.tensor_float_32_execution_enabled(),
            tf.config.functions_run_eagerly(),
            tf.executing_eagerly(),
        ),
    }


before = get_state()
import bert_tf
for module in pkgutil.walk_packages(bert_tf.__path__, "bert_tf."):
    importlib.import_module(module.name)
for name, path, options, request in json.loads(sys.argv[1]):
    model = bert_tf.load(path, **options)
    model(**request)
    model.predict(**request)
    if name == "encoder":
        model.encode(request["text"])
print(*(name for name, value in get_state().items() if value != before[name]))
"""


@pytest.mark.timeout(180)  # The fixtures write seven models in three formats.
def test_the_library_changes_nothing_global(toy_checkpoints, toy_saved_models, toy_litert_files):
    steps = [
        (
            name,
            str(path),
            LOAD_OPTIONS.get(name, {}) if path.parent == toy_checkpoints else {},
            REQUESTS[name],
        )
        for name in REQUESTS
        for path in (
            toy_checkpoints / name,
            *([toy_saved_models / name] if name in ("encoder", "squad") else []),
            toy_litert_files / f"{name}.tflite",
        )
    ]
    done = scripts.run_python("-c", PROCESS, json.dumps(steps), PYTHONWARNINGS="")
    assert (done.returncode, done.stdout) == (0, "\n"), done.stderr
