"""The cluster of several workers in the environment variable TF_CONFIG.

This module checks it, starts it, and explains lost workers.
"""

import contextlib
import json
import os
import re
import signal

import tensorflow as tf

from bert_tf.checkpoints.training_run import find_latest_checkpoint
from bert_tf.errors import InputError, LostWorkerError

VARIABLE = "the environment variable TF_CONFIG"
JOBS = ("chief", "worker")  # The tasks that train.
FORM = '{"cluster": {"worker": ["HOST:PORT", ...]}, "task": {"type": "worker", "index": 0}}'
_TASK = re.compile(r"/job:(\w+)(?:/replica:\d+)?/task:(\d+)")  # A task in TensorFlow's messages.


def read_cluster():
    """Reads TF_CONFIG.

    Returns:
      Tuple of the name of this process's task, such as "worker 0", and dict of the name of each
      task -> its address, HOST:PORT; None if TF_CONFIG has no cluster.

    Raises:
      InputError: If TF_CONFIG does not describe a cluster in which this task trains.
    """
    text = os.environ.get("TF_CONFIG")
    tasks = {}
    try:
        config = json.loads(text or "{}")
        if not config.get("cluster"):
            return None
        for job, addresses in config["cluster"].items():
            if job in JOBS:
                tasks |= {f"{job} {index}": address for index, address in enumerate(addresses)}
        own = f"{config['task']['type']} {config['task'].get('index')}"
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise InputError(f"{VARIABLE} must have the form {FORM}, but is {text:.60}") from error
    for task, address in tasks.items():
        if not is_address(address):
            raise InputError(
                f"{VARIABLE} has the address {address!r:.60} for {task}; must be HOST:PORT"
            )
    if own not in tasks:
        raise InputError(
            f"{VARIABLE} has the task {own:.60}, but its cluster has only {', '.join(tasks):.60}"
        )
    return own, tasks


def is_address(text):
    """Returns whether a value is a str HOST:PORT."""
    found = isinstance(text, str) and re.fullmatch(r"[^\s/]+:(\d{1,5})", text)
    return bool(found) and 0 < int(found[1]) < 1 << 16


@contextlib.contextmanager
def end_on_signals():
    """Lets signals end the process at once.

    TensorFlow starts a cluster without letting Python run.

    Once it listens, TensorFlow itself catches SIGTERM.
    """
    before = {
        number: signal.signal(number, signal.SIG_DFL) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def explain_lost_workers(strategy, output_dir):
    """Raises LostWorkerError for an error about another worker's end.

    It names the last checkpoint in `output_dir`.
    """
    try:
        yield
    except tf.errors.OpError as error:
        if not isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy):
            raise
        cluster = strategy.cluster_resolver
        own = cluster.task_type, int(cluster.task_id)
        others = {(job, int(index)) for job, index in _TASK.findall(error.message)} - {own}
        if not others and "Collective ops is aborted" not in error.message:
            raise
        workers = (
            ", ".join(
                f"{job} {index} at {cluster.cluster_spec().job_tasks(job)[index]}"
                for job, index in sorted(others)
            )
            or "another worker"
        )
        last = find_latest_checkpoint(output_dir)
        saved = f"the last checkpoint is {os.path.basename(last)}; " if last else ""
        raise LostWorkerError(
            f"{output_dir}: lost the connection to {workers}; {saved}run the same command on every "
            "worker to continue"
        ) from error
