"""Pre-training from settings: what is checked before it starts."""

import pytest

from run.pretraining import job
from run.pretraining.settings import PretrainingSettings, ScheduleSettings
from run.settings import ModelSettings, TrainingSettings
from run.training import strategies

EVEN, ODD = {"train_batch_size": 8, "eval_batch_size": 10}, {"train_batch_size": 7, "eval_batch_size": 9}


@pytest.mark.parametrize(("do", "used"), [("do_train", "train_batch_size"), ("do_eval", "eval_batch_size")])
def test_batch_sizes_that_are_not_used_need_not_divide(two_replicas, monkeypatch, do, used):
    monkeypatch.setattr(strategies, "make_strategy", lambda _: two_replicas)

    def make_strategy(**sizes):
        return job.make_strategy(PretrainingSettings(
            schedule=ScheduleSettings(**{do: True}), training=TrainingSettings(**sizes)))

    assert make_strategy(**{**ODD, used: EVEN[used]}) is two_replicas
    with pytest.raises(ValueError, match=f"`{used}`={ODD[used]}: must be a multiple"):
        make_strategy(**{**EVEN, used: ODD[used]})


def test_a_checkpoint_without_heads_is_not_evaluated():
    class Run:
        step = 0
        missing = ("bert/pooler/dense/kernel", "cls/predictions/output_bias", "cls/seq_relationship/output_weights")

    settings = PretrainingSettings(schedule=ScheduleSettings(do_eval=True), model=ModelSettings(init_checkpoint="hf"))
    with pytest.raises(ValueError, match="`init_checkpoint`=hf: is not of a pre-trained model that can be evaluated, "
                                         "it lacks cls/predictions/output_bias, cls/seq_relationship/output_weights"):
        job.check_there_is_a_model(settings, Run)
    Run.missing = ()
    job.check_there_is_a_model(settings, Run)
    with pytest.raises(ValueError, match="holds no checkpoint to evaluate"):
        job.check_there_is_a_model(PretrainingSettings(schedule=ScheduleSettings(do_eval=True)), Run)
