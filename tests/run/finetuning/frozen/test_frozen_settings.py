"""Settings of taggers on frozen features."""

import pytest

from bert_tf.cli.model_settings import ModelSettings
from bert_tf.errors import InputError
from run.finetuning.frozen_settings import FrozenSettings, TransferSettings
from run.finetuning.settings import SearchSettings, TuningSettings
from run.settings import DeviceSettings, OptimizerSettings, StepSettings, TrainingSettings
from run.techniques.settings import Int8Settings, TrainedWeightsSettings


@pytest.mark.parametrize(("options", "message"), [
    ({"model": ModelSettings()}, "`frozen_features`=last: requires `init_checkpoint`$"),
    ({"optimizer": OptimizerSettings(learning_rate=1e-3)},
     "`learning_rate`=0.001: cannot be combined with `frozen_features`; set `frozen_learning_rate`$"),
    ({"tuning": TuningSettings(num_train_epochs=5.0)},
     "`num_train_epochs`=5.0: cannot be combined with `frozen_f"),
    ({"tuning": TuningSettings(do_train=True, keep_head=True)}, "`keep_head`=True: cannot be combined with"),
    ({"step": StepSettings(recompute_activations=True)}, "`recompute_activations`=True: cannot be combined with"),
    ({"tuning": TuningSettings(do_train=True), "trained_weights": TrainedWeightsSettings(lora_rank=2)},
     "`lora_rank`=2: cannot be combined with"),
    ({"tuning": TuningSettings(do_train=True, do_eval=True), "search": SearchSettings(True)},
     "`search`=True: cannot be combined with `frozen_features`$"),
    ({"frozen": FrozenSettings(all_features=True)}, "`all_features`=True: requires `do_train` and `do_eval`$"),
    ({"frozen": FrozenSettings(all_features=True), "tuning": TuningSettings(True, True, True)},
     "`all_features`=True: cannot be combined with `do_predict`$"),
    ({"frozen": FrozenSettings(all_features=True), "tuning": TuningSettings(True, True, num_runs=2)},
     "`all_features`=True: cannot be combined with `num_runs`; set `runs_per_row`$"),
    ({"frozen": FrozenSettings(all_features=True), "tuning": TuningSettings(True, True), "int8": Int8Settings(0)},
     "`quantize_from_step`=0: cannot be combined with `all_features`$"),
    ({"devices": DeviceSettings("multi_worker_mirrored")}, "`frozen_features`=last: cannot be combined with"),
])
def test_settings_that_do_not_go_together(options, message):
    given = {"model": ModelSettings(init_checkpoint="x"), "frozen": FrozenSettings("last"), **options}
    with pytest.raises(InputError, match=f"^{message}"):
        TransferSettings(**given)


def test_unused_settings():
    for values, message in (({"lstm_width": 5}, "`lstm_width`=5: requires `frozen_features`"),
                            ({"frozen_features": "last", "runs_per_row": 3}, "`runs_per_row`=3: requires `all_feature"),
                            ({"frozen_features": "last", "all_features": True}, "`all_features`=True: cannot be c")):
        with pytest.raises(InputError, match=f"^{message}"):
            FrozenSettings(**values)


def test_learning_rate_and_epochs_of_the_bilstm():
    settings = TransferSettings(ModelSettings(init_checkpoint="x"), training=TrainingSettings(output_dir="out"),
                                frozen=FrozenSettings("last", frozen_epochs=2.5))
    frozen, fine_tuned = settings.build_run_settings("last"), settings.build_run_settings()
    assert (frozen.optimizer.learning_rate, frozen.tuning.num_train_epochs) == (1e-3, 2.5)
    assert (fine_tuned.optimizer.learning_rate, fine_tuned.tuning.num_train_epochs) == (5e-5, 3.0)
