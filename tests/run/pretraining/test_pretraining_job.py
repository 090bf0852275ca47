"""Pre-training from settings: what is checked before it starts."""

import types

import pytest

from run.pretraining import job
from run.training import strategies


@pytest.mark.parametrize(("flags", "flag"), [
    ({"do_train": True, "do_eval": False}, "train_batch_size=7"),
    ({"do_train": False, "do_eval": True}, "eval_batch_size=9"),
])
def test_batch_sizes_that_are_not_used_need_not_divide(two_replicas, monkeypatch, flags, flag):
    monkeypatch.setattr(strategies, "make_strategy", lambda *_: two_replicas)
    devices = {"use_tpu": False, "distribution_strategy": "mirrored", "num_gpus": None, "tpu_name": None,
               "num_cpu_devices": 2, "accumulate_steps": 1}
    even = {"train_batch_size": 8, "eval_batch_size": 10}
    odd = {"train_batch_size": 7, "eval_batch_size": 9}
    used = flag.split("=")[0]

    assert job.make_strategy(
        types.SimpleNamespace(**devices, **flags, **{**odd, used: even[used]})) is two_replicas
    with pytest.raises(ValueError, match=f"`{used}`={odd[used]}: must be a multiple"):
        job.make_strategy(types.SimpleNamespace(**devices, **flags, **{**even, used: odd[used]}))
