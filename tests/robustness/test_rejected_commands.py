"""Every script rejects contradictions and missing inputs before it does work.

It also rejects outputs that would overwrite something. The scripts run in this process. Tests of
the settings and of bert_tf.cli show each rejection in detail, and that of values out of the bounds
and of missing flags, which docs/reference.md lists.
"""

import dataclasses
import importlib
import os
import re

import absl.flags
import pytest

from bert_tf.errors import InputError
from tests import scripts
from tests.errors import Message
from tests.robustness.commands import COMMANDS, LONGEST_MESSAGE

pytestmark = pytest.mark.large

# Names of flags whose values are paths that a script reads.
INPUT = re.compile(
    "(?!output|export|cache).*(_file|_dir|checkpoint|models?|teacher|treebank|vocab)|input"
)
# Scripts whose jobs check the paths.
CHECK_IN_JOB = ("create_pretraining_data", "split_sentences", "learn_vocab", "inspect_records")
# Inputs that are opened after resolution, or not at all with the other flags of COMMANDS.
OPENED_LATER = {
    "run_squad": {"predict_file"},
    "run_tagger": {"dev_file", "test_file"},
    "run_multiple_choice": {"dev_file", "test_file"},
    "run_distillation": {"data_dir"},
    "evaluate_models": {"data_dir", "data_file", "dev_file", "predict_file"},
    "convert_checkpoint": {"input"},
    "fill_mask": {"model"},  # It cannot be combined with --init_checkpoint.
    "answer": {"model"},
}


@dataclasses.dataclass(frozen=True)
class Output:
    """An output of a script.

    Attributes:
      command: str. Name of the script.
      flag: str. Name of the flag of the output.
      inputs: Tuple of str. Paths that the output must not overwrite.
      flags: Dict of flags of the script that differ from COMMANDS.
    """

    command: str
    flag: str
    inputs: tuple
    flags: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Rejected:
    """A command that is rejected.

    Attributes:
      command: str. Name of the script.
      flags: Dict of flags of the script that differ from COMMANDS.
      message: Message.
    """

    command: str
    flags: dict
    message: Message


OUTPUTS = (
    Output("create_pretraining_data", flag="output_file", inputs=("text.txt", "vocab.txt")),
    Output("learn_vocab", flag="vocab_file", inputs=("text.txt",)),
    Output(
        "learn_vocab",
        flag="vocab_file",
        flags={"initial_vocab": "vocab.txt", "vocab_size": None},
        inputs=("vocab.txt",),
    ),
    Output(
        "extract_features",
        flag="output_file",
        flags={"vocab_file": "vocab.txt"},
        inputs=(
            "text.txt",
            "vocab.txt",
            "model/bert_config.json",
            "model/vocab.txt",
            "model/bert_model.ckpt.index",
        ),
    ),
    Output(
        "predict",
        flag="output_file",
        flags={"vocab_file": "vocab.txt"},
        inputs=("text.txt", "vocab.txt", "tuned/task.json", "tuned/checkpoint"),
    ),
    Output(
        "evaluate_models",
        flag="output_file",
        inputs=("own/dev.tsv", "served/1/saved_model.pb", "tuned/run.json"),
    ),
    Output(
        "attention_report",
        flag="output_file",
        flags={"vocab_file": "vocab.txt"},
        inputs=("vocab.txt", "model/bert_config.json"),
    ),
)
# Rules that settings declare are in docs/reference.md.
REJECTED = (
    Rejected(
        "answer",
        {"init_checkpoint": None, "model": "served", "doc_stride": 9},
        Message("doc_stride", "has no effect with `model`=served", value=9, end="; omit it"),
    ),
    Rejected(
        "answer",
        {"init_checkpoint": None, "model": "m.tflite", "max_seq_length": 9},
        Message("model", value="m.tflite", end="does not exist; check the path"),
    ),
    Rejected(
        "fill_mask",
        {"init_checkpoint": None, "model": "served", "vocab_file": "vocab.txt"},
        Message(
            "vocab_file", "has no effect with `model`=served", value="vocab.txt", end="; omit it"
        ),
    ),
    Rejected(
        "fill_mask",
        {"max_seq_length": 99},
        Message("max_seq_length", "must be at most 32 (max_position_embeddings", value=99),
    ),
    Rejected(
        "predict",
        {"model": "served", "max_seq_length": None, "do_lower_case": False},
        Message("do_lower_case", "has no effect with `model`=served", value=False, end="; omit it"),
    ),
    Rejected(
        "predict",
        {"model": "served", "bert_config_file": "bert_config.json"},
        Message(
            "bert_config_file",
            "has no effect with `model`=served",
            value="bert_config.json",
            end="; omit it",
        ),
    ),
    Rejected(
        "predict",
        {"model": "served", "task": "classifier"},
        Message("task", "has no effect with `model`=served", value="classifier"),
    ),
    Rejected(
        "predict",
        {"model": "served", "top_k": 3},
        Message("top_k", "has no effect with `model`=served", value=3),
    ),
    *(
        Rejected(
            command,
            {"top_k": 3},
            Message("top_k", "has no effect on models", "kind classifier", "omit it", value=3),
        )
        for command in ("predict", "export_saved_model")
    ),
    Rejected(
        "export_saved_model",
        {"task": "encoder", "multi_label": True},
        Message("multi_label", "models of kind encoder", value=True, end="; omit it"),
    ),
    Rejected(
        "export_saved_model",
        {"batch_sizes": 3},
        Message("batch_sizes", value=3, end="requires `with_litert` or `format`=litert"),
    ),
    Rejected(
        "create_pretraining_data",
        {"mask_fraction": 0.95},
        Message("mask_fraction", "must be at most 1 together", "`random_fraction`", value=0.95),
    ),
    Rejected(
        "create_pretraining_data",
        {"masking": "dynamic", "do_whole_word_mask": True},
        Message(
            "do_whole_word_mask",
            "has no effect with `masking`=dynamic",
            "whose records contain no masks",
            value=True,
            end="; set it for training",
        ),
    ),
    Rejected(
        "run_pretraining",
        {
            "recipe": "original",
            "input_file": "{length}",
            "max_predictions_per_seq": None,
            "num_train_steps": 20,
        },
        Message("max_seq_length", "has no effect with `phases`", "omit it", value=32),
    ),
    Rejected(
        "prune_model",
        {"keep_heads": 1.0, "num_train_epochs": 1},
        Message(None, "nothing to prune", "set `keep_heads`"),
    ),
    Rejected(
        "extract_features",
        {"layers": "first"},
        Message("layers", "must be comma-separated integers, such as", value="first"),
    ),
    Rejected(
        "run_pretraining",
        {"input_file": "texts/*,*.tfrecord", "output_dir": "texts"},
        Message(
            "output_dir",
            "would be read",
            "as `input_file`=texts/*,*.tfrecord",
            value="texts",
            end="; choose another path",
        ),
    ),
    Rejected(
        "run_pretraining",
        {"eval_input_file": "texts", "output_dir": "texts"},
        Message(
            "output_dir",
            "would be read",
            "as `eval_input_file`=texts",
            value="texts",
            end="; choose another path",
        ),
    ),
    Rejected(
        "run_multiple_choice",
        {"data_format": "race", "train_file": "race", "output_dir": "race/out"},
        Message(
            "output_dir",
            "would be read",
            "as `train_file`=race",
            value="race/out",
            end="; choose another path",
        ),
    ),
    Rejected(
        "analyze_attention",
        {"output_dir": "model"},
        Message("output_dir", "would overwrite `init_checkpoint`", value="model"),
    ),
    *(
        Rejected(
            command,
            {"output_dir": "text.txt"},
            Message("output_dir", "must be a directory", "is a file", value="text.txt"),
        )
        for command in ("run_classifier", "analyze_attention", "split_sentences")
    ),
)


@pytest.fixture(autouse=True)
def in_world(world_folder, monkeypatch):
    """Makes the world the current directory."""
    monkeypatch.chdir(world_folder)


def get_error(command, changes):
    """Returns the message with which a command rejects changed flags, "" if it accepts them.

    No process is started.
    """
    package, flags = COMMANDS[command]
    call = scripts.run_here if command in CHECK_IN_JOB else scripts.resolve
    message = ""
    try:
        call(f"{package}.{command}", **{**flags, **changes})
    except (InputError, absl.flags.Error) as error:
        message = str(error)
    assert len(message) <= LONGEST_MESSAGE
    return message


@pytest.mark.parametrize("case", REJECTED, ids=lambda case: f"{case.command}: {case.message}")
def test_contradictions_and_unusable_paths(case):
    case.message.check(get_error(case.command, case.flags))


def test_a_setting_of_checkpoints_next_to_a_litert_file(tmp_path):
    path = tmp_path / "m.tflite"
    path.touch()
    flags = {"init_checkpoint": None, "model": str(path), "max_seq_length": 9}
    assert "`max_seq_length`=9: has no effect" in get_error("answer", flags)


@pytest.mark.parametrize("command", COMMANDS)
def test_missing_inputs(command):
    with scripts.defined(importlib.import_module(f"{COMMANDS[command][0]}.{command}")) as flags:
        inputs = [
            name
            for name, flag in flags.items()
            if flag.flag_type() == "string" and INPUT.fullmatch(name)
        ]
    accepted = {
        name for name in inputs if "none/at/all" not in get_error(command, {name: "none/at/all"})
    }
    assert accepted == OPENED_LATER.get(command, set())


@pytest.mark.parametrize("output", OUTPUTS, ids=lambda output: f"{output.command}: {output.flag}")
def test_outputs_that_would_overwrite_something(tmp_path, output):
    ending = os.path.splitext(output.inputs[0])[1]
    pipe, dangling, link = (tmp_path / f"{name}{ending}" for name in ("pipe", "dangling", "link"))
    os.mkfifo(pipe)
    dangling.symlink_to("nowhere")
    link.symlink_to(os.path.abspath(output.inputs[-1]))
    expected = {
        pipe: "is not a regular file",
        dangling: "is a symbolic link to nowhere",
        link: "would overwrite ",
        "empty": "must be a file, but is a directory",
        **{f"./{path}": "" for path in output.inputs},
    }
    if output.command != "create_pretraining_data":  # It creates directories.
        expected["none/new.tsv"] = "the directory none does not exist"
    for path, message in expected.items():
        error = get_error(output.command, {**output.flags, output.flag: path})
        assert error.startswith(f"`{output.flag}`={path}: {message}"), path
