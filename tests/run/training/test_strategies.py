import pytest

from run.settings import DeviceSettings
from run.training import strategies


def test_batches_must_divide(two_replicas):
    strategies.check_batch_size("train_batch_size", 12, two_replicas, micro_batches=3)
    with pytest.raises(ValueError, match="`eval_batch_size`=7: must be a multiple of the number of replicas, 2"):
        strategies.check_batch_size("eval_batch_size", 7, two_replicas)
    with pytest.raises(ValueError, match="`train_batch_size`=8: must be a multiple of `accumulate_steps` times the "
                                         "number of replicas, 3 x 2"):
        strategies.check_batch_size("train_batch_size", 8, two_replicas, micro_batches=3)


def test_strategies_that_cannot_be_had():
    with pytest.raises(ValueError, match="`num_cpu_devices`=2: goes with `distribution_strategy`=mirrored, not "
                                         "one_device"):
        strategies.make_strategy(DeviceSettings(num_cpu_devices=2))
    with pytest.raises(ValueError, match="`distribution_strategy`=tpu: TensorFlow finds no TPU"):
        strategies.make_strategy(DeviceSettings(use_tpu=True))


@pytest.mark.parametrize(("text", "message"), [
    ("{", "TF_CONFIG is not JSON: Expecting property name"),
    ('["localhost:1"]', "TF_CONFIG is a list: it must be an object with the keys cluster and task"),
])
def test_a_cluster_that_cannot_be_read(monkeypatch, text, message):
    monkeypatch.setenv("TF_CONFIG", text)
    with pytest.raises(ValueError, match=message):
        strategies.make_strategy(DeviceSettings(distribution_strategy="multi_worker_mirrored"))


def test_one_process_is_its_own_chief(two_replicas):
    assert strategies.is_chief(two_replicas)
    assert not strategies.is_multi_worker(two_replicas)
    assert strategies.allows_dynamic_shapes(two_replicas)
