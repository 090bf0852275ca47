"""TF_CONFIG, the start of a cluster, and workers that are missing or lost."""

import json
import re
import signal
from unittest import mock

import pytest
import tensorflow as tf

from bert_tf.errors import InputError, LostWorkerError
from run.training import clusters

A, B = "127.0.0.1:24001", "127.0.0.1:24002"
START = "the environment variable TF_CONFIG "


def configure(monkeypatch, cluster, task_type="worker", index=0):
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": {"type": task_type, "index": index}}))


@pytest.mark.parametrize(("cluster", "task", "own", "tasks"), [
    ({"worker": [A, B]}, ("worker", 1), "worker 1", {"worker 0": A, "worker 1": B}),
    ({"worker": [A, B]}, ("worker", "1"), "worker 1", {"worker 0": A, "worker 1": B}),
    ({"chief": [A], "worker": [B], "evaluator": ["c:1"]}, ("chief", 0), "chief 0", {"chief 0": A, "worker 0": B}),
    ({"worker": ["[::1]:80"]}, ("worker", 0), "worker 0", {"worker 0": "[::1]:80"}),
])
def test_a_cluster(monkeypatch, cluster, task, own, tasks):
    configure(monkeypatch, cluster, *task)
    assert clusters.read_cluster() == (own, tasks)


@pytest.mark.parametrize("text", [None, "", "{}", '{"task": {"type": "worker", "index": 0}}', '{"cluster": {}}'])
def test_no_cluster(monkeypatch, text):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    if text is not None:
        monkeypatch.setenv("TF_CONFIG", text)
    assert clusters.read_cluster() is None


@pytest.mark.parametrize("text", [
    "{", '["localhost:1"]', '{"cluster": [1]}', '{"cluster": {"worker": ["a:1"]}, "task": 3}',
    '{"cluster": {"worker": ["a:1"]}}', '{"cluster": {"worker": 3}, "task": {"type": "worker"}}',
])
def test_a_cluster_that_cannot_be_read(monkeypatch, text):
    monkeypatch.setenv("TF_CONFIG", text)
    with pytest.raises(InputError, match=f"^{START}must have the form {re.escape(clusters.FORM)}, but is "
                                         f"{re.escape(text[:60])}$"):
        clusters.read_cluster()


@pytest.mark.parametrize(("cluster", "task", "message"), [
    ({"worker": [A]}, ("evaluator", 0), "has the task evaluator 0, but its cluster has only worker 0"),
    ({"worker": [A], "ps": [B]}, ("worker", 0), "has the task ps 0; must be a chief or worker"),
    ({"worker": A}, ("worker", 0), "has the address '1' for worker 0; must be HOST:PORT"),
    *(({"worker": [A, address]}, ("worker", 0), f"has the address {address!r} for worker 1; must be HOST:PORT")
      for address in ("127.0.0.1", "a:", ":80", "a:port", "a:0", "a:99999", "http://a:80", "a b:80", 80, None)),
    ({"worker": [A, A]}, ("worker", 0), f"lists an address twice: {A}, {A}"),
    *(({"worker": [A, B]}, ("worker", index), f"has the task worker {index}, but its cluster has only worker 0, worker "
       "1") for index in (2, -1, 0.5, "x", None)),
    ({"worker": []}, ("worker", 0), "has the task worker 0, but its cluster has only "),
])
def test_a_cluster_without_the_task(monkeypatch, cluster, task, message):
    configure(monkeypatch, cluster, *task)
    with pytest.raises(InputError) as caught:
        clusters.read_cluster()
    assert str(caught.value) == START + message


@pytest.mark.parametrize("address", ["a..b:1234", f"{'a' * 64}:1234", ".:1"])
def test_names_that_cannot_exist_are_not_addresses(address):
    assert not clusters.is_address(address)


def test_signals_end_a_process_while_tensorflow_holds_the_interpreter():
    before = signal.getsignal(signal.SIGTERM)
    with clusters.end_on_signals():
        assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == [signal.SIG_DFL] * 2
    assert signal.getsignal(signal.SIGTERM) is before


ABORTED = "Collective ops is aborted by: Socket closed"
REMOTE = f"{ABORTED}\nAdditional GRPC error information from remote target /job:worker/replica:0/task:1 while calling"
UNHEALTHY = "The following tasks are unhealthy (stopped sending heartbeats):\n/job:worker/replica:0/task:1"


@pytest.mark.parametrize(("message", "worker"), [
    (f"Graph execution error:\n\nDetected at node x\n{REMOTE}", f"worker 1 at {B}"), (UNHEALTHY, f"worker 1 at {B}"),
    (f"{{function_node x_device_/job:worker/replica:0/task:0/device:CPU:0}} {ABORTED}", "another worker")])
@pytest.mark.parametrize("has_checkpoint", [True, False])
def test_a_lost_worker_is_named(tmp_path, message, worker, has_checkpoint):
    strategy = make_strategy()
    if has_checkpoint:
        tf.train.CheckpointManager(tf.train.Checkpoint(), str(tmp_path), 1).save(7)
    with pytest.raises(LostWorkerError) as caught, clusters.explain_lost_workers(strategy, str(tmp_path)):
        raise tf.errors.UnavailableError(None, None, message)
    saved = "the last checkpoint is ckpt-7; " * has_checkpoint
    assert str(caught.value) == (f"{tmp_path}: lost the connection to {worker}; {saved}run the same command on every "
                                 "worker to continue")


def make_strategy():
    strategy = mock.Mock(spec=tf.distribute.MultiWorkerMirroredStrategy)
    strategy.cluster_resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        tf.train.ClusterSpec({"worker": [A, B]}), task_type="worker", task_id=0)
    return strategy


@pytest.mark.parametrize(("strategy", "error"), [
    (make_strategy(), tf.errors.ResourceExhaustedError(None, None, "OOM on /job:worker/replica:0/task:0/device:CPU:0")),
    (tf.distribute.OneDeviceStrategy("CPU:0"), tf.errors.UnavailableError(None, None, REMOTE)),
    (make_strategy(), InputError("x")),
])
def test_other_errors_are_raised(tmp_path, strategy, error):
    with pytest.raises(type(error)) as caught, clusters.explain_lost_workers(strategy, str(tmp_path)):
        raise error
    assert caught.value is error
