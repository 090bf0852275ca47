"""Every script rejects missing inputs, and outputs that would overwrite something, before it does any work.

The scripts run in this process. Tests of bert_tf.cli.paths and bert_tf.cli.places show each check in detail.
"""

import os
import re

import pytest

from tests import scripts
from tests.robustness import commands
from tests.robustness.commands import COMMANDS, TRAINING

# Names of flags whose values are paths that a script reads.
INPUT = re.compile(r"(?!output|export|answers).*(_file|_dir|checkpoint|models?|teacher|vectors|treebank|vocab)|input")
CHECK_IN_JOB = ("create_pretraining_data", "learn_vocab", "inspect_records")  # Their jobs check the paths.
OPENED_LATER = {  # Inputs that are opened after resolution, or not at all with the other flags of COMMANDS.
    "augment_data": {"bert_config_file", "init_checkpoint"},
    "run_pretraining": {"init_checkpoint", "vocab_file"},
    "run_squad": {"predict_file"},
    "run_tagger": {"dev_file", "test_file"},
    "run_multiple_choice": {"dev_file", "test_file"},
    "run_distillation": {"data_dir"},
    "run_general_distillation": {"vocab_file"},
    "compare_models": {"data_dir", "dev_file", "predict_file"},
    "evaluate_export": {"model"},
    "convert_checkpoint": {"input"},
    "fill_mask": {"model", "saved_model"},  # They cannot be combined with --init_checkpoint.
    "answer": {"model", "saved_model"},
}
OUTPUTS = (  # command, its output flag, additional flags, inputs that the output must not overwrite
    ("create_pretraining_data", "output_file", {}, ("text.txt", "vocab.txt")),
    ("learn_vocab", "vocab_file", {}, ("text.txt",)),
    ("learn_vocab", "vocab_file", {"initial_vocab": "vocab.txt", "vocab_size": None}, ("vocab.txt",)),
    ("augment_data", "output_file", {}, ("own/train.tsv", "model/bert_config.json")),
    ("extract_features", "output_file", {"vocab_file": "vocab.txt"},
     ("text.txt", "vocab.txt", "model/bert_config.json", "model/vocab.txt", "model/bert_model.ckpt.index")),
    ("predict", "output_file", {"vocab_file": "vocab.txt"},
     ("text.txt", "vocab.txt", "tuned/task.json", "tuned/checkpoint")),
    ("evaluate_export", "output_file", {}, ("own/dev.tsv", "served/1/saved_model.pb", "tuned/run.json")),
    ("measure_quantization", "output_file", {}, ("own/dev.tsv", "tuned/vocab.txt", "tuned/run.json")),
    ("attention_report", "output_file", {"vocab_file": "vocab.txt"}, ("vocab.txt", "model/bert_config.json")),
)
REJECTED = (  # command, flags, beginning of the message
    ("create_pretraining_data", {"input_file": "texts", "output_file": "texts/a"}, "`output_file`=texts/a: would be"),
    ("learn_vocab", {"input_file": "texts/*.txt", "vocab_file": "texts/a.txt"}, "`vocab_file`=texts/a.txt: would be"),
    ("run_pretraining", {"input_file": "texts/*,*.tfrecord", "output_dir": "texts"}, "`output_dir`=texts: would be"),
    ("run_pretraining", {"eval_input_file": "texts", "output_dir": "texts"}, "`output_dir`=texts: would be"),
    ("run_general_distillation", {"input_file": "texts/*", "output_dir": "texts"}, "`output_dir`=texts: would be"),
    ("run_multiple_choice", {"data_format": "race", "train_file": "race", "output_dir": "race/out"},
     "`output_dir`=race/out: would be"),
    ("run_distillation", {"output_dir": "tuned"}, "`output_dir`=tuned: is the directory of `teacher`"),
    ("run_distillation", {"student_layers": None, "student_checkpoint": "model", "output_dir": "model/"},
     "`output_dir`=model/: is the directory of `student_checkpoint`"),
    ("run_general_distillation", {"output_dir": "model"}, "`output_dir`=model: is the directory of `teacher`"),
    ("prune_model", {"output_dir": "tuned"}, "`output_dir`=tuned: is the directory of `init_checkpoint`"),
    ("analyze_attention", {"output_dir": "model"}, "`output_dir`=model: would overwrite `init_checkpoint`"),
    ("convert_checkpoint", {"output": "model"}, "`output`=model: is the directory of `input`"),
    ("convert_checkpoint", {"output": "tuned"}, "`output`=tuned: is not empty"),
    ("convert_checkpoint", {"output": "tuned", "overwrite": True, "vocab_file": "tuned/vocab.txt"},
     "`output`=tuned: would overwrite `vocab_file`=tuned/vocab.txt"),
    *((command, {"output_dir": "text.txt"}, "`output_dir`=text.txt: must be a directory, but is a file")
      for command in (*TRAINING, "analyze_attention", "probe_layers")),
    *((command, {"output_dir": "gs:/bucket/x"}, "`output_dir`=gs:/bucket/x: is not the path of a bucket; set gs://")
      for command in TRAINING),
    ("create_pretraining_data", {"output_file": "labels.txt/new"}, "`output_file`=labels.txt/new: labels.txt must be"),
    ("create_pretraining_data", {"output_file": "a,a"}, "`output_file`=a: occurs twice"),
    ("run_classifier", {"data_dir": "own\udcff"}, "`data_dir`="),
)


@pytest.fixture(autouse=True)
def in_world(world_folder, monkeypatch):
    """Makes the world the current directory."""
    monkeypatch.chdir(world_folder)


def get_error(command, changes):
    return commands.get_error(command, changes, scripts.run_here if command in CHECK_IN_JOB else scripts.resolve)


@pytest.mark.parametrize("command", COMMANDS)
def test_missing_inputs(command):
    inputs = [name for name, kind in commands.get_flag_types(command).items()
              if kind == "string" and INPUT.fullmatch(name)]
    accepted = {name for name in inputs if "none/at/all" not in get_error(command, {name: "none/at/all"})}
    assert accepted == OPENED_LATER.get(command, set())


@pytest.mark.parametrize(("command", "output", "flags", "inputs"), OUTPUTS)
def test_outputs_that_would_overwrite_something(tmp_path, command, output, flags, inputs):
    ending = os.path.splitext(inputs[0])[1]
    pipe, dangling, link = (tmp_path / f"{name}{ending}" for name in ("pipe", "dangling", "link"))
    os.mkfifo(pipe)
    dangling.symlink_to("nowhere")
    link.symlink_to(os.path.abspath(inputs[-1]))
    expected = {pipe: "is not a regular file", dangling: "is a symbolic link to nowhere", link: "would overwrite ",
                "empty": "must be a file, but is a directory", **{f"./{path}": "" for path in inputs}}
    if command != "create_pretraining_data":  # It creates directories.
        expected["none/new.tsv"] = "the directory none does not exist"
    for path, message in expected.items():
        assert get_error(command, {**flags, output: path}).startswith(f"`{output}`={path}: {message}"), path


@pytest.mark.parametrize(("command", "changes", "message"), REJECTED)
def test_places_that_cannot_be_used(command, changes, message):
    assert get_error(command, changes).startswith(message)
