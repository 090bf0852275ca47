"""Flags that scripts reject before they read data, configs by name, and obsolete flags."""

import pytest

from bert_tf.cli import resolution, roles
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from data_prep.tasks import classifier, multiple_choice
from run.finetuning.settings import FineTuningSettings
from run.inference.served_models import LabelSettings
from run.inference.settings import (
    AnswerSettings,
    ConversionSettings,
    ExportSettings,
)
from run.pretraining.settings import PretrainingSettings
from run.training.settings import OriginalDeviceSettings
from tests import remote_folders, scripts
from tests.errors import Message, raises_message, rejects


@pytest.mark.parametrize(
    ("settings", "values", "message"),
    [
        (
            ExportSettings(),
            {"weights": "float16"},
            Message("weights", "must be one of float32", "bfloat16", "int8", value="float16"),
        ),
        (
            ExportSettings(),
            {"lengths": (), "format": "litert"},
            Message("lengths", "must contain at least one value"),
        ),
        (
            classifier.ClassifierSettings(),
            {"task_name": "xnli", "xnli_language": "it"},
            Message("xnli_language", "one of ar, bg, de, el", value="it"),
        ),
        *(
            (
                PretrainingSettings(),
                {"profile_steps": steps, "do_train": True},
                Message("profile_steps", "must be FROM:TO with 1 <= FROM", value=steps),
            )
            for steps in ("5", "0:3", "6:5", "1:x", "")
        ),
    ],
)
def test_settings_that_do_not_go_together(settings, values, message):
    with raises_message(message):
        settings.replace_values(values)


SERVED = {"init_checkpoint": "pretrained", "max_seq_length": 32}
TRAINING = {**SERVED, "output_dir": "out"}


@pytest.mark.parametrize(
    ("module", "flags", "message"),
    [
        (
            "run.run_classifier",
            {"task_name": "mrpc", "data_dir": ".", **TRAINING},
            Message(None, "nothing to do", "set `do_train`, `do_eval`, or `do_predict`"),
        ),
        (
            "run.run_pretraining",
            {"input_file": "*", **TRAINING},
            Message(None, "nothing to do", "set `do_train`, `do_eval`, or both"),
        ),
        (
            "run.export_saved_model",
            {"export_dir": "b", **SERVED},
            Message(
                "init_checkpoint",
                "has no task.json that specifies",
                "set `task` to one of encoder",
                "masked_",
                value="pretrained",
            ),
        ),
        (
            "run.export_saved_model",
            {"export_dir": "b", "init_checkpoint": "squad", "task": "classifier"},
            Message(
                "task",
                "conflicts with task.json of `init_checkpoint`=squad (span_labeler)",
                value="classifier",
            ),
        ),
    ],
)
def test_flags_of_a_script(in_toys, module, flags, message):
    with raises_message(message):
        scripts.resolve(module, **flags)
    assert not (in_toys / "out").exists()


@pytest.mark.usefixtures("in_toys")
def test_a_model_without_the_weights_of_the_task():
    with rejects(
        "init_checkpoint", "is not a fine-tuned multiple_choice", "it lacks", value="pretrained"
    ):
        scripts.run_here(
            "run.export_saved_model", task="multiple_choice", export_dir="never", **SERVED
        )


def test_files_and_directories_may_be_remote():
    folder = remote_folders.new_folder()
    remote_folders.put(f"{folder}/data/article.txt", "Mary Shelley wrote it.")
    remote_folders.put(f"{folder}/labels.txt", "bad\ngood\n")
    assert (
        AnswerSettings(context_file=f"{folder}/data/article.txt").read_context()
        == "Mary Shelley wrote it."
    )
    assert LabelSettings(labels_file=f"{folder}/labels.txt").read_labels() == ("bad", "good")
    remote_folders.put(f"{folder}/data/article.txt", b"\xef\xbb\xbfMary\xff")
    assert AnswerSettings(context_file=f"{folder}/data/article.txt").read_context() == "Mary"
    remote_folders.put(f"{folder}/data/article.txt", "Mary".encode("utf-16"))
    with rejects("article.txt", "is UTF-16", "save the file as UTF-8"):
        AnswerSettings(context_file=f"{folder}/data/article.txt").read_context()
    roles.check_roles(
        multiple_choice.MultipleChoiceSettings(train_file=f"{folder}/data", data_format="race"),
        FineTuningSettings(do_train=True),
    )
    with pytest.raises(InputError, match="is not empty; choose another"):
        ConversionSettings(f"{folder}/other", f"{folder}/data/").check_files()


def test_a_config_by_file_or_by_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small = BertConfig(11, 6, 2, 3, 7, max_position_embeddings=13)
    (tmp_path / "bert_config.json").write_text(small.to_json())
    assert resolution.read_model_config("bert_config.json", 13) == small
    assert resolution.read_model_config("base", 512) == BertConfig.from_name("base")
    (tmp_path / "base").write_text(small.to_json())  # A file takes precedence over a name.
    assert resolution.read_model_config("base", 13) == small
    with rejects("max_seq_length", "must be at most 13 (max_position", value=14):
        resolution.read_model_config("base", 14)


def test_obsolete_flags_have_a_note():
    assert list(OriginalDeviceSettings(master="grpc://10.0.0.2:8470").notes()) == [
        "--master: obsolete and ignored (see --help)"
    ]
    assert list(OriginalDeviceSettings().notes()) == []
