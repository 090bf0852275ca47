"""Invalid files end a script with status 1 and a line that names the file; unusual ones do not.

No file is lost. The scripts run in this process. Tests of each reader show its messages in detail.
"""

import dataclasses
import io
import json
import re
import shutil
import struct
import sys
import tempfile

import pytest

from tests import scripts
from tests.robustness import world
from tests.robustness.commands import COMMANDS, LONGEST_MESSAGE

pytestmark = pytest.mark.extra_large

DEEP = "[" * 100_000
SPECIAL_TOKENS = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n"
TASK_FILES = (
    "{",
    "[]",
    DEEP,
    '{"kind": "x"}',
    *(
        json.dumps(
            {
                "kind": "classifier",
                "max_seq_length": 16,
                "do_lower_case": True,
                "labels": ["0", "1"],
                **change,
            }
        )
        for change in ({"max_seq_length": "7"}, {"labels": "ab"}, {"strip_accents": 3})
    ),
)
TABLES = (
    "text\tlabel\n",
    "text\tlabel\na\t\nb\t1\n",
    "text\tlabel\na\n",
    "a\tb\nc\td\n",
    bytes(64),
)
WORDS = ("", "a O\nb\n", "a B-PER\nb VERB\n", bytes(40))
TREEBANKS = ("", "1\ta\n", bytes(40), "1\ta\t_\tX\t_\t_\t7\tdet\t_\t_\n\n")
RECORDS = ("", b"x" * 100, bytes(1000))
ARCHIVES = ("", b"x" * 99, b"PK\x05\x06" + bytes(18))
SAFETENSORS = (
    "",
    bytes(8),
    struct.pack("<Q", 2**62) + b"{}",
    struct.pack("<Q", 8) + b"{" * 8,
    struct.pack("<Q", 100_000) + DEEP.encode(),
    struct.pack("<Q", 2) + b"{}" + b"x" * 99,
    struct.pack("<Q", 71)
    + b'{"a":{"dtype":"F32","shape":[9999999,9999999],"data_offsets":[0,64]}}  '
    + b"x" * 64,
)
RESUMED = {"output_dir": "tuned", "init_checkpoint": None}


@dataclasses.dataclass(frozen=True)
class InvalidFile:
    """Contents of a file with which a script ends with a message.

    Attributes:
      command: str. Name of the script.
      file: str. Path of the file in the world.
      contents: Tuple of str or bytes, each of which is tried.
      flags: Dict of flags of the script that differ from COMMANDS.
      message: str. Part of the message. Defaults to `file`.
    """

    command: str
    file: str
    contents: tuple
    flags: dict = dataclasses.field(default_factory=dict)
    message: str | None = None


@dataclasses.dataclass(frozen=True)
class Try:
    """A command and its result.

    Attributes:
      command, flags: See `InvalidFile`.
      message: str. Part of the message, or of the output if the script succeeds.
      files: Dict of the path of a file in the world to its content, str or bytes.
      writes: str. Regular expression of the paths that the script writes. None if it must fail.
    """

    command: str
    message: str
    flags: dict = dataclasses.field(default_factory=dict)
    files: dict = dataclasses.field(default_factory=dict)
    writes: str | None = None


INVALID_FILES = (
    InvalidFile("run_pretraining", file="bert_config.json", contents=(b"\xff\xfe", DEEP)),
    InvalidFile(
        "run_pretraining",
        flags={"bert_config_file": "params.yaml"},
        file="params.yaml",
        contents=(DEEP, "a: [", "x: 2001-99-99", "3"),
    ),
    InvalidFile("run_pretraining", file="records.tfrecord", contents=RECORDS),
    InvalidFile("inspect_records", file="records.tfrecord", contents=RECORDS),
    InvalidFile(
        "create_pretraining_data",
        file="vocab.txt",
        contents=("", b"[PAD]\n\xe9\n", "\ufeff[PAD]\n", bytes(100), SPECIAL_TOKENS + "x" * 300),
        message="vocab.txt",
    ),
    InvalidFile(
        "create_pretraining_data", file="text.txt", contents=("one document\n", "\n \n", "")
    ),
    InvalidFile(
        "create_pretraining_data",
        flags={"input_file": "a.txt.gz"},
        file="a.txt.gz",
        contents=("", b"x" * 99, b"\x1f\x8b" + bytes(50)),
    ),
    InvalidFile(
        "split_sentences",
        file="text.txt",
        contents=("\n \n", "", '{"text": ""}\n', '{"text": "a"}\n{"a": 3}\n', '{"body": "a"}'),
    ),
    InvalidFile(
        "split_sentences",
        flags={"format": "json"},
        file="text.txt",
        contents=("text\n", DEEP, bytes(50)),
    ),
    InvalidFile(
        "split_sentences",
        flags={"input_file": "a.txt.gz"},
        file="a.txt.gz",
        contents=("", b"x" * 99, b"\x1f\x8b" + bytes(50)),
    ),
    InvalidFile("run_classifier", file="own/train.tsv", contents=TABLES),
    InvalidFile(
        "run_squad",
        file="squad.json",
        contents=(DEEP, '{"data": [{"paragraphs": [{"context": 3, "qas": []}]}]}'),
    ),
    InvalidFile(
        "run_multiple_choice",
        flags={"data_format": "race", "train_file": "race"},
        file="race/1.json",
        contents=('{"article": 3}',),
    ),
    InvalidFile(
        "run_multiple_choice", file="swag.csv", contents=("sent1,sent2,ending0,ending1\na,b,c,d\n",)
    ),
    InvalidFile("run_tagger", file="words.txt", contents=WORDS),
    InvalidFile(
        "run_tagger",
        flags={"train_file": "a.conllu", "treebank_column": "upos"},
        file="a.conllu",
        contents=TREEBANKS[:3],
    ),
    InvalidFile(
        "analyze_attention", flags={"treebank": "a.conllu"}, file="a.conllu", contents=TREEBANKS
    ),
    InvalidFile(
        "probe_layers",
        flags={"train_file": "a.conllu", "dev_file": "a.conllu"},
        file="a.conllu",
        contents=TREEBANKS,
    ),
    InvalidFile(
        "analyze_attention",
        file="text.txt",
        contents=("",),
        message="--input_file=text.txt: contains no",
    ),
    InvalidFile(
        "predict",
        flags={"model": "served", "input_file": "a.jsonl"},
        file="a.jsonl",
        contents=(DEEP,),
        message="a.jsonl:1: must be a JSON object",
    ),
    InvalidFile(
        "predict",
        flags={"model": "served"},
        file="text.txt",
        contents=("",),
        message="--input_file=text.txt: contains no rows",
    ),
    *(
        InvalidFile(
            "predict",
            flags={"model": "served"},
            file=f"served/1/{name}",
            contents=("", b"x"),
            message="served/1",
        )
        for name in (
            "saved_model.pb",
            "variables/variables.index",
            "variables/variables.data-00000-of-00001",
        )
    ),
    InvalidFile(
        "fill_mask",
        flags={"init_checkpoint": None, "model": "m.tflite", "max_seq_length": None},
        file="m.tflite",
        contents=ARCHIVES,
    ),
    *(
        InvalidFile(
            command,
            file=f"model/bert_model.ckpt.{part}",
            contents=("", b"x" * 500),
            message="model/bert_model.ckpt",
        )
        for command in ("convert_checkpoint", "run_classifier")
        for part in ("index", "data-00000-of-00001")
    ),
    InvalidFile(
        "convert_checkpoint",
        flags={"input": "hf", "format": "tf1"},
        file="hf/model.safetensors",
        contents=SAFETENSORS,
    ),
    InvalidFile("export_saved_model", file="tuned/task.json", contents=TASK_FILES),
    InvalidFile(
        "export_saved_model",
        flags={"labels_file": "labels.txt"},
        file="labels.txt",
        contents=(b"\xff\n", ""),
    ),
    *(
        InvalidFile(
            "run_classifier",
            flags=RESUMED,
            file=f"tuned/{name}",
            contents=contents,
            message="tuned",
        )
        for name, contents in (
            ("run.json", (b"\xff", '{"changeable": 3}')),
            ("task.json", ("[]",)),
            ("training_log.csv", (b"\xff",)),
            ("checkpoint", ("nonsense", b"\xff\xfe")),
            ("ckpt-3.index", ("",)),
            ("ckpt-3.data-00000-of-00001", ("x",)),
        )
    ),
    *(
        InvalidFile(
            "probe_layers",
            flags={name: path},
            file=path,
            contents=("a O\n",),
            message=f"--output_dir=new: would overwrite --{name}={path}",
        )
        for name, path in (("train_file", "new/probes.tsv"), ("vocab_file", "new/probes.txt"))
    ),
    InvalidFile(
        "run_squad",
        flags={"train_file": "new/predictions.json", "predict_file": "new/predictions.json"},
        file="new/predictions.json",
        contents=("{}",),
        message="--output_dir=new: would overwrite --train_file=new/predictions.json",
    ),
    InvalidFile(
        "run_tagger",
        flags={"dev_file": "new/test_predictions.txt"},
        file="new/test_predictions.txt",
        contents=("a O\n",),
        message="--output_dir=new: would overwrite --dev_file=new/test_predictions.txt",
    ),
)
CONFLICTS = (
    *(
        Try(command, flags={"output_dir": folder}, message=f"--output_dir={folder}")
        for command in (
            "run_pretraining",
            "run_classifier",
            "run_squad",
            "run_tagger",
            "run_multiple_choice",
        )
        for folder in ("model", "hf")
    ),
    Try("run_classifier", flags={"output_dir": "text.txt/below"}, message="text.txt/below"),
    *(
        Try(
            "run_distillation",
            flags={"output_dir": folder, **flags},
            message=f"--output_dir={folder}: contains a {message}",
        )
        for folder, flags, message in (
            ("wide", {}, "model"),
            ("tuned", {}, "run"),
            ("model/", {"student_layers": None, "student_checkpoint": "model"}, "model"),
        )
    ),
    *(
        Try(
            command,
            flags={"bert_config_file": "bert_config.json", "init_checkpoint": "wide"},
            message="wide/bert_model.ckpt",
        )
        for command in ("run_pretraining", "run_classifier", "run_squad")
    ),
    Try("fill_mask", flags={"init_checkpoint": "tuned"}, message="--init_checkpoint=tuned"),
    Try(
        "evaluate_models",
        flags={"models": "span,served", "predict_file": "squad.json", "data_dir": None},
        message="--models=served: is a classifier",
    ),
    Try(
        "evaluate_models", flags={"predict_file": "squad.json"}, message="--predict_file=squad.json"
    ),
    Try("run_classifier", flags={**RESUMED, "max_seq_length": 12}, message="max_seq_length"),
    Try("run_classifier", flags={**RESUMED, "train_batch_size": 3}, message="--train_batch_size"),
    Try("run_classifier", flags={**RESUMED, "do_lower_case": False}, message="do_lower_case"),
    Try(
        "run_classifier",
        flags={**RESUMED, "vocab_file": "other_vocab.txt"},
        message="--vocab_file=other_vocab.txt",
    ),
    Try(
        "run_classifier",
        flags={**RESUMED, "bert_config_file": "wide/bert_config.json"},
        message="--output_dir=tuned",
    ),
    Try(
        "run_classifier",
        flags={
            **RESUMED,
            "search": True,
            "do_eval": True,
            "train_batch_size": None,
            "search_batch_sizes": 4,
        },
        message="--output_dir=tuned: contains a run",
    ),
    *(
        Try(
            "run_pretraining",
            flags={"output_dir": "pretrained", "bert_config_file": None, **flags},
            message=message,
        )
        for flags, message in (
            ({"train_batch_size": 3}, "--train_batch_size"),
            ({"max_predictions_per_seq": 4}, "records.tfrecord"),
            (
                {"masking": "dynamic", "vocab_file": "vocab.txt"},
                "records.tfrecord: its records contain masks",
            ),
        )
    ),
    Try(
        "run_classifier",
        flags={"do_train": None, "do_eval": True},
        message="--init_checkpoint=model: was not trained for this task",
    ),
    Try(
        "run_pretraining",
        flags={"do_train": None, "do_eval": True},
        message="--output_dir=new: contains no checkpoint",
    ),
)
RECORD_FILES = r"new\.tfrecord(\.(run|shard)\.json)?"
VALID = (
    *(
        Try(
            "create_pretraining_data",
            files={"text.txt": text},
            message="wrote",
            writes=RECORD_FILES,
        )
        for text in (
            b"One line.\r\n\r\nTwo.\r\n",
            b"\xef\xbb\xbfOne.\n\nTwo.\n",
            b"One.\n\n" + b"x" * 5000 + b"\n",
            b"One.\n\n\x00\x01two\n",
            "Ḧé.\n\nß ſ ŉ\n",
        )
    ),
    Try(
        "create_pretraining_data",
        files={"text.txt": b"caf\xe9 one\n\ntwo \xff\n"},
        message="2 lines contain bytes that are not UTF-8",
        writes=RECORD_FILES,
    ),
    Try(
        "create_pretraining_data",
        flags={"random_seed": -(2**63)},
        message="wrote",
        writes=RECORD_FILES,
    ),
    *(
        Try(
            "split_sentences",
            files={"text.txt": text},
            message="wrote    1 documents",
            writes=r"new/sentences\.txt",
        )
        for text in (
            b"One.\r\n\r\n",
            b"\xef\xbb\xbfOne.",
            b"\x00\x01 caf\xe9\n",
            b"x" * 50_000,
            "e\u0301 \u2028 ß\n",
            '{"text": "\\ud800"}\n{"text": ""}\n',
            '<doc id="1">\nOne.\n',
        )
    ),
    Try(
        "learn_vocab",
        flags={"vocab_size": 112, "min_count": 1},
        files={"text.txt": b"caf\xe9 caf caf\n"},
        message="entries",
        writes=r"new\.txt",
    ),
    Try(
        "predict",
        flags={"model": "served"},
        files={"text.txt": "a\r\n\r\n" + "word " * 3000},
        message="predictions of a classifier for 3 rows",
        writes=r"new\.jsonl",
    ),
    Try(
        "predict",
        flags={"model": "served", "input_file": "a.csv"},
        files={"a.csv": b'text\n"caf\xe9, ' + b"x" * 140_000 + b'"\n'},
        message="1 line contains bytes that are not UTF-8",
        writes=r"new\.jsonl",
    ),
)
TRIES = (
    *(
        Try(
            invalid.command,
            invalid.message or invalid.file,
            flags=invalid.flags,
            files={invalid.file: content},
        )
        for invalid in INVALID_FILES
        for content in invalid.contents
    ),
    *CONFLICTS,
    *VALID,
)


@pytest.fixture
def folder(world_folder, tmp_path, monkeypatch):
    """A copy of the world, which is the current directory.

    The directory for temporary files must be empty at the end.
    """
    folder = tmp_path / "world"
    temporary = tmp_path / "temporary"
    shutil.copytree(world_folder, folder, symlinks=True)
    temporary.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", None)
    yield folder
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("case", TRIES, ids=lambda case: f"{case.command}: {case.message}")
def test_try(folder, capsys, case):
    for name, content in case.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    before = world.snapshot(folder)
    package, flags = COMMANDS[case.command]
    status = scripts.run_main(f"{package}.{case.command}", **{**flags, **case.flags})
    output, errors = capsys.readouterr()
    assert status == int(case.writes is None), errors
    assert "Traceback (most recent" not in errors
    line = errors.strip().rpartition("\n")[2].rpartition("\r")[2]
    assert case.message in (line if status else output + errors)
    assert not status or len(line) <= LONGEST_MESSAGE
    after = world.snapshot(folder)
    changed = {path for path in before | after if before.get(path) != after.get(path)}
    assert [path for path in changed if not re.fullmatch(case.writes or "", path)] == []


def test_standard_input_and_output(folder, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\n")))
    assert scripts.run_main("run.predict", model="served", input_file="-", output_file="-") == 0
    assert '"label"' in capsys.readouterr().out
