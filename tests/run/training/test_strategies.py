"""Selection of devices, clusters of TF_CONFIG, and workers that are missing or lost."""

import json
import signal
import urllib.error
from unittest import mock

import pytest
import tensorflow as tf
import tf_keras

from bert_tf import processor
from bert_tf.config import BertConfig
from bert_tf.errors import InputError, LostWorkerError
from bert_tf.fast import Fast
from bert_tf.losses import TotalLoss
from data_prep.tasks import classifier
from run.finetuning import job as fine_tuning_job
from run.finetuning.settings import FineTuningSettings
from run.pretraining import job as pretraining_job
from run.pretraining.settings import PretrainingSettings
from run.training import clusters, strategies
from run.training.padding import Padding
from run.training.settings import DeviceSettings, OriginalDeviceSettings
from run.training.step import Trainer
from tests.errors import Message, check_message, raises_message, rejects

A = "127.0.0.1:24001"
B = "127.0.0.1:24002"
START = "the environment variable TF_CONFIG "
ABORTED = "Collective ops is aborted by: Socket closed"
REMOTE = (
    f"{ABORTED}\nAdditional GRPC error information from remote target "
    "/job:worker/replica:0/task:1 while calling"
)
FINE_TUNING = FineTuningSettings(task_settings=classifier.ClassifierSettings())
UNHEALTHY = (
    "The following tasks are unhealthy (stopped sending heartbeats):\n/job:worker/replica:0/task:1"
)


def test_batches_must_divide(two_replicas):
    strategies.check_batch_size("train_batch_size", 12, two_replicas, micro_batches=3)
    with rejects("eval_batch_size", "multiple of the number", end="of replicas, 2", value=7):
        strategies.check_batch_size("eval_batch_size", 7, two_replicas)
    with rejects(
        "train_batch_size",
        "must be a multiple",
        "`accumulate_steps` times the number",
        "3 x 2",
        value=8,
    ):
        strategies.check_batch_size("train_batch_size", 8, two_replicas, micro_batches=3)


@pytest.mark.parametrize(
    ("job", "settings", "split"),
    [
        *((pretraining_job, PretrainingSettings(), split) for split in ("train", "eval")),
        *((fine_tuning_job, FINE_TUNING, split) for split in ("train", "eval", "predict")),
    ],
)
def test_only_used_batch_sizes_must_divide(two_replicas, monkeypatch, job, settings, split):
    monkeypatch.setattr(strategies, "make_strategy", lambda *_: two_replicas)
    odd = {"train_batch_size": 7, "eval_batch_size": 9, "predict_batch_size": 11}
    used = f"{split}_batch_size"
    assert (
        job.create_strategy(settings.replace_values({**odd, f"do_{split}": True, used: 8}))
        is two_replicas
    )
    with pytest.raises(ValueError, match=f"^`{used}`=5: must be a multiple"):
        job.create_strategy(settings.replace_values({**odd, f"do_{split}": True, used: 5}))


def test_a_message_about_the_batch_sizes_of_a_search_names_their_setting(two_replicas, monkeypatch):
    monkeypatch.setattr(strategies, "make_strategy", lambda *_: two_replicas)
    settings = FINE_TUNING.replace_values(
        {
            "do_train": True,
            "do_eval": True,
            "search": True,
            "search_batch_sizes": (8, 7),
            "output_dir": "out",
        }
    )
    with pytest.raises(ValueError, match=r"^`search_batch_sizes`=7: must be a multiple"):
        fine_tuning_job.create_strategy(settings)


def test_strategies_that_cannot_be_had():
    with pytest.raises(ValueError, match="`distribution_strategy`=tpu: TensorFlow finds no TPU"):
        strategies.make_strategy(OriginalDeviceSettings(use_tpu=True))
    for address in ("grpc://host", "grpc://:80", "grpc://host:x", "grpc://host:99999"):
        with pytest.raises(InputError, match=f"`tpu_name`={address}: must be grpc://HOST:PORT"):
            strategies.make_strategy(OriginalDeviceSettings(use_tpu=True, tpu_name=address))


@pytest.mark.parametrize(
    "error",
    [
        urllib.error.URLError("Name or service not known"),
        RuntimeError("no Google API"),
        ValueError("no TPUs of that name"),
    ],
)
def test_a_tpu_whose_name_is_unknown(monkeypatch, error):
    fail = mock.Mock(side_effect=error)
    monkeypatch.setattr(strategies.distribute_utils, "get_distribution_strategy", fail)
    reason = str(getattr(error, "reason", error))
    with rejects("tpu_name", "cannot be found", reason, "grpc://HOST:PORT", value="pod"):
        strategies.make_strategy(OriginalDeviceSettings(use_tpu=True, tpu_name="pod"))
    for address in (None, "local", "grpc://10.0.0.2:8470"):  # They are not looked up.
        with pytest.raises(type(error)) as caught:
            strategies.make_strategy(OriginalDeviceSettings(use_tpu=True, tpu_name=address))
        assert not isinstance(caught.value, InputError)


def test_mirrored_without_gpus(monkeypatch, capsys):
    monkeypatch.setattr(
        strategies.distribute_utils, "get_distribution_strategy", lambda *_, **__: "made"
    )
    monkeypatch.setattr(strategies, "GPU_FILES", "none")
    monkeypatch.setattr(strategies.tf.config, "list_physical_devices", lambda _: [])
    for name in ("mirrored", "one_device", "multi_worker_mirrored"):
        strategies.make_strategy(DeviceSettings(distribution_strategy=name))
        has_note = "mirrored uses GPUs" in capsys.readouterr().err
        assert has_note == (name == "mirrored")


def test_a_cluster_of_one(monkeypatch, capsys):
    monkeypatch.setattr(
        strategies.distribute_utils, "get_distribution_strategy", lambda *_, **__: "made"
    )
    monkeypatch.delenv("TF_CONFIG", raising=False)
    assert (
        strategies.make_strategy(DeviceSettings(distribution_strategy="multi_worker_mirrored"))
        == "made"
    )
    check_message(capsys.readouterr().err, "note", "TF_CONFIG has no cluster", "the only worker")


def test_a_cluster_that_cannot_start(monkeypatch):
    def fail(*arguments, **named):
        raise tf.errors.InternalError(None, None, "Barrier failed because: task is set to ERROR")

    monkeypatch.setattr(strategies.distribute_utils, "get_distribution_strategy", fail)
    settings = DeviceSettings(distribution_strategy="multi_worker_mirrored")
    with rejects(None, "a worker", "TF_CONFIG", "ended while the cluster", error=LostWorkerError):
        strategies.make_strategy(settings)
    monkeypatch.setenv(
        "TF_CONFIG",
        '{"cluster": {"worker": ["localhost"]}, "task": {"type": "worker", "index": 0}}',
    )
    with rejects(None, "has the address 'localhost'", "worker 0", "must be HOST:PORT"):
        strategies.make_strategy(settings)


@pytest.mark.parametrize(
    ("cpu_info", "is_slow"),
    [
        ("processor\t: 0\nflags\t\t: fpu avx512f avx512_bf16 sse\n", False),
        ("flags\t\t: fpu avx512f\n", True),
        (None, False),
    ],
)
def test_bfloat16_on_a_cpu_without_it(tmp_path, monkeypatch, capsys, cpu_info, is_slow):
    if cpu_info is not None:
        (tmp_path / "cpuinfo").write_text(cpu_info)
    monkeypatch.setattr(processor, "CPU_INFO", str(tmp_path / "cpuinfo"))
    for precision, device in (
        ("float32", "CPU"),
        ("float16", "CPU"),
        ("bfloat16", "GPU"),
        ("bfloat16", "TPU"),
    ):
        strategies.warn_about_slow_precision(precision, device)
    assert capsys.readouterr().err == ""
    strategies.warn_about_slow_precision("bfloat16", "CPU")
    err = capsys.readouterr().err
    assert bool(err) == is_slow
    if is_slow:
        check_message(err, "note", "bfloat16 (avx512_bf16, amx_bf16)", "float32 is faster on it")


def test_float32_on_a_tpu_takes_six_passes(capsys):
    strategies.warn_about_slow_precision("float32", "TPU")
    check_message(
        capsys.readouterr().err,
        "note",
        "a TPU",
        "float32 matrix multiplication",
        "six bfloat16 passes",
        "bfloat16 is faster on it",
    )


def test_implementations_are_chosen_by_device(two_replicas, monkeypatch):
    base, tiny = (BertConfig(9, hidden_size=size, num_attention_heads=2) for size in (768, 128))
    one = tf.distribute.OneDeviceStrategy("CPU:0")
    assert strategies.choose_fast(one, base) == Fast(last_where_read=True, layer="compiled")
    for other in ((one, tiny), (two_replicas, base)):
        assert strategies.choose_fast(*other) == Fast(last_where_read=True)
    assert strategies.choose_fast(one, base, jit_compile=True) == Fast()
    assert strategies.choose_fast(one, base, jit_compile=True, in_16_bits=True) == Fast()
    gpu = tf.distribute.OneDeviceStrategy("GPU:0")
    assert (
        strategies.choose_fast(gpu, base)
        == strategies.choose_fast(gpu, base, jit_compile=True)
        == Fast()
    )
    assert strategies.choose_fast(gpu, base, in_16_bits=True) == Fast(vocabulary_multiple=8)
    assert strategies.choose_fast(gpu, base, jit_compile=True, in_16_bits=True) == Fast(
        layer="einsum", last_where_read=True, vocabulary_multiple=8
    )
    monkeypatch.setattr(strategies, "device_type", lambda strategy: "TPU")
    assert strategies.choose_fast(one, base) == Fast(layer="einsum")
    assert strategies.choose_fast(one, base, in_16_bits=True) == Fast(
        layer="einsum", last_where_read=True
    )


def test_padding_is_removed_where_shapes_may_change(monkeypatch):
    one = tf.distribute.OneDeviceStrategy("CPU:0")
    assert strategies.choose_padding(one) is Padding.REMOVED
    assert strategies.choose_padding(one, is_removable=False) is Padding.STATIC
    assert strategies.choose_padding(one, jit_compile=True) is Padding.STATIC
    chosen = {
        padding: strategies.choose_fast(one, BertConfig(9, 128, num_attention_heads=2), padding)
        for padding in Padding
    }
    assert {padding: fast.remove_padding for padding, fast in chosen.items()} == {
        Padding.REMOVED: True,
        Padding.DYNAMIC: False,
        Padding.STATIC: False,
    }
    monkeypatch.setattr(strategies, "is_tpu", lambda strategy: True)
    assert strategies.choose_padding(one) is Padding.STATIC


@pytest.fixture
def unseen_gpu(tmp_path, monkeypatch):
    """A machine with a GPU's file that TensorFlow does not see."""
    (tmp_path / "nvidia0").touch()
    monkeypatch.setattr(strategies, "GPU_FILES", str(tmp_path / "nvidia[0-9]*"))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


def test_a_gpu_that_tensorflow_does_not_see(unseen_gpu, monkeypatch, capsys):
    strategies.make_strategy(DeviceSettings())
    note = capsys.readouterr().err
    check_message(
        note,
        "note",
        "running on the CPU",
        "does not find this machine's GPUs",
        f"pip install 'tensorflow[and-cuda]=={tf.__version__}'",
    )
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    strategies.make_strategy(DeviceSettings())
    assert capsys.readouterr().err == ""


def test_float32_is_not_rounded_unless_allowed():
    before = tf.config.experimental.tensor_float_32_execution_enabled()
    try:
        for precision in ("tf32", "float32"):
            strategies.make_strategy(DeviceSettings(), precision)
            assert tf.config.experimental.tensor_float_32_execution_enabled() == (
                precision == "tf32"
            )
    finally:
        tf.config.experimental.enable_tensor_float_32_execution(before)


def test_memory_is_freed_on_all_replicas(two_replicas):
    with two_replicas.scope():
        variable = tf.Variable(tf.ones([7, 5]))
    strategies.free_memory([variable])
    for part in two_replicas.experimental_local_results(variable):
        assert tf.raw_ops.ReadVariableOp(resource=part.handle, dtype=part.dtype).shape == [0]


def test_batches_are_fetched_to_the_devices_that_use_them(two_replicas):
    """CPU:1 stands for a GPU: the Trainer's batches lie there, not where the pipeline runs."""
    numbers = (
        tf.data.Dataset.from_tensor_slices({"x": tf.range(8.0)})
        .repeat()
        .batch(4, drop_remainder=True)
    )
    for strategy in (tf.distribute.OneDeviceStrategy("CPU:1"), two_replicas):
        with strategy.scope():
            trainer = Trainer(strategy, tf_keras.Sequential(), None, TotalLoss())
        trainer.set_dataset(lambda share: numbers)
        batch = next(iter(trainer.batches))["x"]
        found = [value.device for value in strategy.experimental_local_results(batch)]
        assert [tf.DeviceSpec.from_string(device).device_index for device in found] == (
            [1] if strategy is not two_replicas else [0, 1]
        )


def configure(monkeypatch, cluster, task_type="worker", index=0):
    monkeypatch.setenv(
        "TF_CONFIG", json.dumps({"cluster": cluster, "task": {"type": task_type, "index": index}})
    )


@pytest.mark.parametrize(
    ("cluster", "task", "own", "tasks"),
    [
        ({"worker": [A, B]}, ("worker", 1), "worker 1", {"worker 0": A, "worker 1": B}),
        (
            {"chief": [A], "worker": [B], "evaluator": ["c:1"]},
            ("chief", 0),
            "chief 0",
            {"chief 0": A, "worker 0": B},
        ),
        ({"worker": ["[::1]:80"]}, ("worker", 0), "worker 0", {"worker 0": "[::1]:80"}),
    ],
)
def test_a_cluster(monkeypatch, cluster, task, own, tasks):
    configure(monkeypatch, cluster, *task)
    assert clusters.read_cluster() == (own, tasks)


@pytest.mark.parametrize(
    "text", [None, "", "{}", '{"task": {"type": "worker", "index": 0}}', '{"cluster": {}}']
)
def test_no_cluster(monkeypatch, text):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    if text is not None:
        monkeypatch.setenv("TF_CONFIG", text)
    assert clusters.read_cluster() is None


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '["localhost:1"]',
        '{"cluster": [1]}',
        '{"cluster": {"worker": ["a:1"]}, "task": 3}',
        '{"cluster": {"worker": ["a:1"]}}',
        '{"cluster": {"worker": 3}, "task": {"type": "worker"}}',
    ],
)
def test_a_cluster_that_cannot_be_read(monkeypatch, text):
    monkeypatch.setenv("TF_CONFIG", text)
    with rejects(None, f"{START}must have the form {clusters.FORM}", f"{text[:60]}"):
        clusters.read_cluster()


@pytest.mark.parametrize(
    ("cluster", "task", "message"),
    [
        (
            {"worker": [A]},
            ("evaluator", 0),
            Message(None, "has the task evaluator 0", "only worker 0"),
        ),
        (
            {"worker": [A], "ps": [B]},
            ("ps", 0),
            Message(None, "has the task ps 0", "only worker 0"),
        ),
        *(
            (
                {"worker": [A, address]},
                ("worker", 0),
                Message(None, f"has the address {address!r}", "worker 1", "must be HOST:PORT"),
            )
            for address in (
                "127.0.0.1",
                "a:",
                ":80",
                "a:port",
                "a:0",
                "a:99999",
                "http://a:80",
                None,
            )
        ),
        *(
            (
                {"worker": [A, B]},
                ("worker", index),
                Message(None, f"has the task worker {index}", "only worker 0, worker 1"),
            )
            for index in (2, -1, 0.5, "x", None)
        ),
        (
            {"worker": "a:1"},
            ("worker", 0),
            Message(None, "has the address 'a'", "worker 0", "must be HOST:PORT"),
        ),
        ({"worker": []}, ("worker", 0), Message(None, "has the task worker 0")),
    ],
)
def test_a_cluster_without_the_task(monkeypatch, cluster, task, message):
    configure(monkeypatch, cluster, *task)
    with raises_message(message) as caught:
        clusters.read_cluster()
    assert str(caught.value).startswith(START)


def test_signals_end_a_process_while_tensorflow_holds_the_interpreter():
    before = signal.getsignal(signal.SIGTERM)
    with clusters.end_on_signals():
        assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == [
            signal.SIG_DFL
        ] * 2
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize(
    ("message", "worker"),
    [
        (f"Graph execution error:\n\nDetected at node x\n{REMOTE}", f"worker 1 at {B}"),
        (UNHEALTHY, f"worker 1 at {B}"),
        (
            f"{{function_node x_device_/job:worker/replica:0/task:0/device:CPU:0}} {ABORTED}",
            "another worker",
        ),
    ],
)
def test_a_lost_worker_is_named(tmp_path, message, worker):
    for saved in ("", " the last checkpoint is ckpt-7;"):
        with (
            rejects(
                tmp_path,
                f"lost the connection to {worker};{saved} run",
                error=LostWorkerError,
                end="command on every worker to continue",
            ),
            clusters.explain_lost_workers(make_strategy(), str(tmp_path)),
        ):
            raise tf.errors.UnavailableError(None, None, message)
        tf.train.CheckpointManager(tf.train.Checkpoint(), str(tmp_path), 1).save(7)


def make_strategy():
    strategy = mock.Mock(spec=tf.distribute.MultiWorkerMirroredStrategy)
    strategy.cluster_resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        tf.train.ClusterSpec({"worker": [A, B]}), task_type="worker", task_id=0
    )
    return strategy


@pytest.mark.parametrize(
    ("strategy", "error"),
    [
        (
            make_strategy(),
            tf.errors.ResourceExhaustedError(
                None, None, "OOM on /job:worker/replica:0/task:0/device:CPU:0"
            ),
        ),
        (tf.distribute.OneDeviceStrategy("CPU:0"), tf.errors.UnavailableError(None, None, REMOTE)),
        (make_strategy(), InputError("x")),
    ],
)
def test_other_errors_are_raised(tmp_path, strategy, error):
    with (
        pytest.raises(type(error)) as caught,
        clusters.explain_lost_workers(strategy, str(tmp_path)),
    ):
        raise error
    assert caught.value is error
