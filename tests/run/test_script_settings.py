"""Flags that scripts reject before they load a model or read data."""

import types

import pytest

from bert_tf import models
from bert_tf.cli import roles
from bert_tf.cli.model_settings import ModelSettings
from bert_tf.errors import InputError
from data_prep.tasks import classifier, multiple_choice, span_labeler
from run.finetuning.settings import FineTuningSettings, TuningSettings
from run.pretraining.settings import PretrainingSettings
from run.serving.settings import (
    AnswerSettings,
    ConversionSettings,
    ExportSettings,
    ExtractionSettings,
    FillMaskSettings,
)
from run.settings.served_models import LabelSettings
from run.techniques.int8 import Int8
from tests import remote_folders, scripts, toy_runs

TRAIN, EVALUATE = {"do_train": True}, {"do_eval": True}
EVERY_WORKER = {"distribution_strategy": "multi_worker_mirrored"}


@pytest.mark.parametrize(("settings", "values", "message"), [
    (FillMaskSettings(), {"text": ("no mask",)}, "`text`=no mask: must contain [MASK]"),
    (ExtractionSettings(), EVERY_WORKER,
     "`distribution_strategy`=multi_worker_mirrored: each worker would write the complete file; split the input, "),
    (ExportSettings(), {"format": "litert", "compute": "bfloat16"}, "`compute`=bfloat16: requires `format`=saved_mo"),
    (ExportSettings(), {"weights": "float16"}, "`weights`=float16: must be one of float32, bfloat16, int8 with "),
    (ExportSettings(), {"format": "litert", "with_litert": "int8"}, "`with_litert`=int8: requires `format`=saved_mo"),
    (ExportSettings(), {"format": "litert", "version": 2}, "`version`=2: requires `format`=saved_model"),
    (ExportSettings(), {"lengths": (), "format": "litert"}, "`lengths`: must contain at least one value"),
    (ExportSettings(), {"lengths": (8,)}, "`lengths`=8: requires `with_litert` or `format`=litert"),
    (PretrainingSettings(), {"eval_steps": 5, **TRAIN}, "`eval_steps`=5: requires `do_eval`"),
    (TuningSettings(), {"eval_steps": 3, **TRAIN}, "`eval_steps`=3: requires `do_eval`"),
    (TuningSettings(), {"early_stopping_evals": 2, **EVALUATE}, "`early_stopping_evals`=2: requires `eval_steps`"),
    (FineTuningSettings(task=classifier.Settings()), {"glue_submission": True},
     "`glue_submission`=True: requires `do_predict`"),
    (FineTuningSettings(model=ModelSettings(init_checkpoint="bert")), {"keep_head": True},
     "`keep_head`=True: requires `do_train`"),
    (FineTuningSettings(), {"ensemble": ("a",), **EVALUATE}, "`ensemble`=a: must contain at least two runs"),
    *((FineTuningSettings(model=ModelSettings(init_checkpoint=path)), {"ensemble": ("a", "b"), **flags},
       f"`ensemble`=a,b: cannot be combined with `{name}`")
      for name, path, flags in (("do_train", None, TRAIN), ("num_runs", None, {"num_runs": 2, **EVALUATE}),
                                ("init_checkpoint", "bert", EVALUATE))),
    (FineTuningSettings(), {"keep_head": False, **TRAIN}, "`keep_head`=False: requires `init_checkpoint`"),
    (span_labeler.Settings(), {"use_best_threshold": True}, "`use_best_threshold`=True: requires `version_2_with_neg"),
    (span_labeler.Settings(), {"version_2_with_negative": True, "answer_metric": "korquad"},
     "`answer_metric`=korquad: cannot be combined with `version_2_with_negative`"),
    (classifier.Settings(), {"window_stride": 5}, "`window_stride`=5: requires `long_texts`=windows"),
    (classifier.Settings(), {"max_windows": 2}, "`max_windows`=2: requires `long_texts`=windows"),
    (classifier.Settings(), {"window_pooling": "max"}, "`window_pooling`=max: requires `long_texts`=windows"),
    (classifier.Settings(), {"task_name": "mnli", "xnli_language": "de"}, "`xnli_language`=de: requires `task_name`="),
    (classifier.Settings(), {"task_name": "xnli", "xnli_train_language": "it"},
     "`xnli_train_language`=it: must be one of ar, bg, de, el, en, es, fr, hi, ru, sw, th"),
    (FineTuningSettings(), {"freeze_layers": 0, **EVALUATE}, "`freeze_layers`=0: requires `do_train`"),
    (FineTuningSettings(), {"layerwise_learning_rate_decay": 0.5, **EVALUATE}, "`layerwise_learning_rate_decay`=0.5: "),
    (FineTuningSettings(), {"layerwise_learning_rate_decay": 0.0, **TRAIN}, "`layerwise_learning_rate_decay`=0.0: mu"),
    (FineTuningSettings(), {"lora_rank": 8, **EVALUATE}, "`lora_rank`=8: requires `do_train`"),
    (FineTuningSettings(), {"lora_rank": 8, "quantize_from_step": 0, **TRAIN},
     "`lora_rank`=8: cannot be combined with `quantize_from_step`"),
    (FineTuningSettings(), {"search": True, "search_epochs": (), **TRAIN, **EVALUATE},
     "`search_epochs`: must contain at least one value"),
    *((PretrainingSettings(), {"profile_steps": steps, **TRAIN},
       f"`profile_steps`={steps}: must be FROM:TO with 1 <= FROM <= TO, such as ")
      for steps in ("5", "0:3", "6:5", "1:x", "-1:3", "")),
    (PretrainingSettings(), {"profile_steps": "14:90", "num_train_steps": 13, **TRAIN},
     "`profile_steps`=14:90: training ends at step 13; set earlier steps"),
    (FineTuningSettings(), {"search_batch_sizes": (8, 16)}, "`search_batch_sizes`=8,16: requires `search`"),
    (FineTuningSettings(), {"search": True, **TRAIN}, "`search`=True: requires `do_eval`"),
    (FineTuningSettings(), {"search": True, **EVALUATE}, "`search`=True: requires `do_train`"),
    (FineTuningSettings(), {"search": True, "num_runs": 2, **TRAIN, **EVALUATE},
     "`search`=True: cannot be combined with `num_runs`; run the search first, then set `num_runs` with the best "),
    *((FineTuningSettings(), {"search": True, name: value, **TRAIN, **EVALUATE},
       f"`search`=True: cannot be combined with `{name}`; set `search_{plural}`") for name, value, plural in (
           ("train_batch_size", 8, "batch_sizes"), ("learning_rate", 1e-4, "learning_rates"),
           ("num_train_epochs", 1.0, "epochs"))),
])
def test_settings_that_do_not_go_together(settings, values, message):
    with pytest.raises(InputError) as caught:
        settings.replace_values(values)
    assert str(caught.value).startswith(message)


def test_int8_after_the_last_step():
    with pytest.raises(InputError, match="`quantize_from_step`=4: training ends at step 3; set an earlier step"):
        Int8(4).build(types.SimpleNamespace(num_steps=3))


@pytest.fixture(scope="module")
def folder(tmp_path_factory, reference):
    """A pre-trained and a fine-tuned model, and small files."""
    folder = tmp_path_factory.mktemp("settings")
    toy_runs.write(folder, reference, {"bert": (None, models.BertEncoder), "squad": toy_runs.TASKS["squad"]})
    (folder / "full").mkdir()
    (folder / "full" / "notes.txt").write_text("a")
    (folder / "a.tsv").write_text("x\ty\n1\t2\n")
    (folder / "a.tflite").write_bytes(b"")
    return folder


@pytest.mark.parametrize(("module", "flags", "message"), [
    ("run.run_classifier", {"task_name": "mrpc", "data_dir": "."},
     "nothing to do; set `do_train`, `do_eval`, or `do_predict`"),
    ("run.run_classifier", {"data_dir": ".", **TRAIN}, "`task_name` is required"),
    ("run.run_squad", TRAIN, "`train_file` is required with `do_train`"),
    ("run.run_tagger", TRAIN, "`train_file` is required with `do_train`"),
    ("run.run_multiple_choice", EVALUATE, "`dev_file` is required with `do_eval`"),
    ("run.run_pretraining", {"input_file": "a.tsv"}, "nothing to do; set `do_train`, `do_eval`, or both"),
    ("run.run_pretraining", {"input_file": "a.tsv", "masking": "dynamic", "init_checkpoint": None, **TRAIN,
                             "bert_config_file": "bert/bert_config.json"}, "`vocab_file` is required"),
    ("run.extract_features", {"input_file": "a.tsv", "output_file": "b.jsonl"},
     "`layers`=-1,-2,-3,-4: layer -2 does not exist"),
    ("run.export_saved_model", {"export_dir": "b"},
     "`init_checkpoint`=bert: has no task.json that specifies the task; set `task` to one of encoder, masked_lm, "),
    ("run.export_saved_model", {"export_dir": "b", "init_checkpoint": "squad", "task": "classifier"},
     "`task`=classifier: conflicts with task.json of `init_checkpoint`=squad (span_labeler)"),
    ("run.export_saved_model", {"export_dir": "b", "init_checkpoint": "squad", "max_seq_length": 33},
     "`max_seq_length`=33: must be at most 32"),
    ("run.export_saved_model", {"export_dir": "b", "init_checkpoint": "nowhere", "task": "encoder"},
     "`init_checkpoint`=nowhere: does not exist; to download a model: hf download google-bert/bert-base-uncased "),
    ("run.convert_checkpoint", {"input": "bert", "format": "tf1", "output": "full"}, "is not empty; choose another "),
    ("run.convert_checkpoint", {"input": "bert", "format": "tf1", "output": "bert"}, "`output`=bert: is the directory"),
    ("run.answer", {}, "`context` is required without `context_file`"),
    ("run.answer", {"context": "a", "context_file": "a.tsv"}, "`context_file`=a.tsv: cannot be combined with `con"),
    ("run.answer", {"context": "a", "model": "full"},
     "`init_checkpoint`=bert: cannot be combined with `model`; set only one of them"),
    ("run.predict", {"model": "bert", "input_file": "a.tsv", "output_file": "b.jsonl"},
     "`model`=bert: has no task.json that specifies the task; set `task` to one of"),
    ("run.predict", {"model": "a.tflite", "max_seq_length": 128, "input_file": "a.tsv", "output_file": "b.jsonl"},
     "`max_seq_length`=128: has no effect with `model`=a.tflite, whose settings are fixed by the export; omit it"),
])
def test_flags_of_a_script(folder, monkeypatch, module, flags, message):
    monkeypatch.chdir(folder)
    usual = {"init_checkpoint": "bert", "max_seq_length": 32}
    if module in ("run.predict", "run.convert_checkpoint"):
        usual = {}
    elif module.startswith("run.run_"):
        usual["output_dir"] = "out"
    with pytest.raises(InputError) as caught:
        scripts.resolve(module, **{**usual, **flags})
    assert message in str(caught.value)
    assert not (folder / "out").exists()


def test_a_model_without_the_weights_of_the_task(folder, monkeypatch):
    monkeypatch.chdir(folder)
    with pytest.raises(InputError, match="`init_checkpoint`=bert: is not a fine-tuned multiple_choice; it lacks"):
        scripts.run_here("run.export_saved_model", init_checkpoint="bert", task="multiple_choice", max_seq_length=32,
                         export_dir="never")


def test_files_and_directories_may_be_remote():
    folder = remote_folders.new_folder()
    remote_folders.put(f"{folder}/data/article.txt", "Mary Shelley wrote it.")
    remote_folders.put(f"{folder}/labels.txt", "bad\ngood\n")
    assert AnswerSettings(context_file=f"{folder}/data/article.txt").read_context() == "Mary Shelley wrote it."
    assert LabelSettings(labels_file=f"{folder}/labels.txt").read_labels() == ("bad", "good")
    remote_folders.put(f"{folder}/data/article.txt", b"\xef\xbb\xbfMary\xff")
    assert AnswerSettings(context_file=f"{folder}/data/article.txt").read_context() == "Mary"
    remote_folders.put(f"{folder}/data/article.txt", "Mary".encode("utf-16"))
    with pytest.raises(InputError, match=r"article\.txt: is UTF-16; save the file as UTF-8"):
        AnswerSettings(context_file=f"{folder}/data/article.txt").read_context()
    roles.check(multiple_choice.Settings(train_file=f"{folder}/data", data_format="race"), FineTuningSettings(**TRAIN))
    for source, message in (("other", "is not empty; choose another"), ("data", "is the directory of `input`")):
        with pytest.raises(InputError, match=message):
            ConversionSettings(f"{folder}/{source}", f"{folder}/data/").check_files()
