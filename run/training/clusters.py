"""The cluster of several workers in the environment variable TF_CONFIG: its checks, its start, and lost workers."""

import contextlib
import json
import os
import re
import signal
import threading

import tensorflow as tf

from bert_tf.errors import InputError, LostWorkerError
from bert_tf.latest_checkpoint import find_latest_checkpoint

VARIABLE = "the environment variable TF_CONFIG"
JOBS = ("chief", "worker")  # The tasks that train.
_TASK = re.compile(r"/job:(\w+)(?:/replica:\d+)?/task:(\d+)")  # A task in TensorFlow's messages.


def read_cluster():
    """Reads TF_CONFIG.

    Returns:
      Tuple of the name of this process's task, such as "worker 0", and dict of the name of each task -> its address,
      HOST:PORT; None if TF_CONFIG has no cluster.

    Raises:
      InputError: If TF_CONFIG is not JSON, or does not describe a cluster in which this task trains.
    """
    try:
        config = json.loads(os.environ.get("TF_CONFIG") or "{}")
    except (ValueError, RecursionError) as error:
        raise InputError(f"{VARIABLE} is not JSON: {error}") from error
    if not isinstance(config, dict):
        raise InputError(f"{VARIABLE} must be an object with the keys cluster and task, but is a "
                         f"{type(config).__name__}")
    for name in ("cluster", "task"):
        if not isinstance(config.get(name, {}), dict):
            raise InputError(f"{VARIABLE} must have an object for {name}, but has {config[name]!r:.60}")
    if not config.get("cluster"):
        return None
    tasks = _read_tasks(config["cluster"])
    task = config.get("task", {})
    if task.get("type") not in JOBS:
        raise InputError(f"{VARIABLE} has the task type {task.get('type')!r:.60}; must be chief or worker")
    own = f"{task['type']} {task.get('index')}"
    if own not in tasks:
        raise InputError(f"{VARIABLE} has the task {own:.60}, but its cluster has only {', '.join(tasks):.60}")
    return own, tasks


def _read_tasks(cluster):
    """Returns dict of the name of each task of a cluster that trains -> its address; raises InputError if invalid."""
    tasks = {}
    for job, addresses in cluster.items():
        if job == "evaluator":  # It does not train with the others.
            continue
        if job not in JOBS:
            raise InputError(f"{VARIABLE} lists tasks of type {job!r:.60}; must be chief or worker")
        if not isinstance(addresses, list):
            raise InputError(f"{VARIABLE} must have a list of addresses for {job}, but has {addresses!r:.60}")
        for index, address in enumerate(addresses):
            if not is_address(address):
                raise InputError(f"{VARIABLE} has the address {address!r:.60} for {job} {index}; must be HOST:PORT")
            if address in tasks.values():
                raise InputError(f"{VARIABLE} lists the address {address} twice")
            tasks[f"{job} {index}"] = address
    return tasks


def is_address(text):
    """Returns whether a value is a str HOST:PORT."""
    found = isinstance(text, str) and re.fullmatch(r"([^\s/]+):(\d{1,5})", text)
    try:
        return bool(found and found[1].encode("idna")) and 0 < int(found[2]) < 1 << 16
    except UnicodeError:  # A part of the name between dots is empty or too long.
        return False


@contextlib.contextmanager
def end_on_signals():
    """Lets signals end the process at once, since TensorFlow starts a cluster without letting Python run.

    Once it listens, TensorFlow itself catches SIGTERM.
    """
    if threading.current_thread() is not threading.main_thread():  # Other threads cannot set handlers.
        yield
        return
    before = {number: signal.signal(number, signal.SIG_DFL) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def explain_lost_workers(strategy, output_dir):
    """Raises LostWorkerError, with the last checkpoint in `output_dir`, for an error about another worker's end."""
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
        workers = ", ".join(f"{job} {index} at {cluster.cluster_spec().job_tasks(job)[index]}"
                            for job, index in sorted(others)) or "another worker"
        last = find_latest_checkpoint(output_dir)
        saved = f"the last checkpoint is {os.path.basename(last)}; " if last else ""
        raise LostWorkerError(f"{output_dir}: lost the connection to {workers}; {saved}run the same command on every "
                              "worker to continue") from error
