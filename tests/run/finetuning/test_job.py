"""The fine-tuning job before training: runs, small batches, steps, the optimizer, and resuming."""

import dataclasses

import pytest
import tf_keras

from data_prep.tasks import classifier
from run.finetuning.settings import FineTuningSettings, TuningSettings
from run.finetuning.tasks.classifier import ClassifierTask
from run.pretraining.settings import PretrainingSettings
from run.training.loop import open_run
from run.training.settings import OptimizerSettings, StepSettings, TrainingSettings
from tests.errors import rejects

BOTH = {"do_train": True, "do_eval": True}
TRAINING = TrainingSettings(output_dir="out", random_seed=5)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (classifier.ClassifierSettings(task_name="RTE"), {"task_name": "rte"}),
        *(
            (classifier.ClassifierSettings(task_name=name), {"task_name": "sst-2"})
            for name in ("SST-2", "sst2")
        ),
        (classifier.ClassifierSettings(task_name="rte", max_windows=8), {"window_stride": 64}),
    ],
)
def test_a_resumed_run_compares_what_settings_mean_for_the_data(settings, expected):
    values = ClassifierTask.open(
        FineTuningSettings(task_settings=settings), None
    ).data.resolved_settings.values()
    assert values.items() >= expected.items()


def test_the_optimizer_of_the_settings(one_device, tmp_path):
    rates = OptimizerSettings(
        learning_rate=0.25, optimizer="lamb", weight_decay_rate=0.0, clip_norm=3.0
    )
    settings = PretrainingSettings(
        optimizer=rates,
        step_settings=StepSettings(mixed_precision="float16"),
        training=TrainingSettings(output_dir=str(tmp_path)),
    )
    optimizer = open_run(settings, one_device, tf_keras.Sequential, None).optimizer
    config = optimizer.get_config()
    assert (type(optimizer).__name__, config["weight_decay"], config["clip_norm"]) == (
        "Lamb",
        0.0,
        3.0,
    )
    assert optimizer.loss_scale is not None
    plain = dataclasses.replace(settings, step_settings=StepSettings())
    assert open_run(plain, one_device, tf_keras.Sequential, None).optimizer.loss_scale is None


def test_the_trials_of_the_paper_s_search():
    runs = FineTuningSettings(training=TRAINING, search=True, **BOTH).runs
    assert len({run.training.output_dir for run in runs}) == len(runs) == 18
    assert [run.training.output_dir for run in runs[:4]] == [
        "out/search/batch16_lr5e-05_epochs2",
        "out/search/batch16_lr5e-05_epochs3",
        "out/search/batch16_lr5e-05_epochs4",
        "out/search/batch16_lr3e-05_epochs2",
    ]
    last = runs[-1]
    assert (
        last.training.train_batch_size,
        last.optimizer.learning_rate,
        last.tuning.num_train_epochs,
    ) == (32, 2e-5, 4)
    assert {(run.training.random_seed, run.search, run.do_train) for run in runs} == {
        (5, False, True)
    }


def test_duplicate_values_are_tried_once():
    runs = FineTuningSettings(
        training=TRAINING,
        search=True,
        search_batch_sizes=(8, 8),
        search_learning_rates=(1e-4, 0.0001, 0.5),
        search_epochs=(1.0, 1, 0.25),
        **BOTH,
    ).runs
    assert [run.training.output_dir.rsplit("/", 1)[1] for run in runs] == [
        "batch8_lr0.0001_epochs1",
        "batch8_lr0.0001_epochs0.25",
        "batch8_lr0.5_epochs1",
        "batch8_lr0.5_epochs0.25",
    ]


def test_too_few_examples_for_a_batch():
    settings = FineTuningSettings(do_train=True, tuning=TuningSettings(num_train_epochs=0.3))
    with rejects(
        "train_batch_size", "0.3 epochs of 100 examples", "do not fill one batch", value=32
    ):
        settings.num_train_steps(100)
