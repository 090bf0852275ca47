"""Invalid files end a script with status 1 and a line that names the file; unusual ones do not.

No file is lost. The scripts run in this process. Tests of each reader show its messages in detail.
"""

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
FILES = (  # command, flags, file, its contents, part of the message: None for the path of the file
    ("run_pretraining", {}, "bert_config.json", (b"\xff\xfe", DEEP), None),
    (
        "run_pretraining",
        {"bert_config_file": "params.yaml"},
        "params.yaml",
        (DEEP, "a: [", "x: 2001-99-99", "3"),
        None,
    ),
    ("run_pretraining", {}, "records.tfrecord", RECORDS, None),
    ("inspect_records", {}, "records.tfrecord", RECORDS, None),
    (
        "create_pretraining_data",
        {},
        "vocab.txt",
        ("", b"[PAD]\n\xe9\n", "\ufeff[PAD]\n", bytes(100), SPECIAL_TOKENS + "x" * 300),
        "vocab.txt",
    ),
    ("create_pretraining_data", {}, "text.txt", ("one document\n", "\n \n", ""), None),
    (
        "create_pretraining_data",
        {"input_file": "a.txt.gz"},
        "a.txt.gz",
        ("", b"x" * 99, b"\x1f\x8b" + bytes(50)),
        None,
    ),
    (
        "split_sentences",
        {},
        "text.txt",
        ("\n \n", "", '{"text": ""}\n', '{"text": "a"}\n{"a": 3}\n', '{"body": "a"}'),
        None,
    ),
    ("split_sentences", {"format": "json"}, "text.txt", ("text\n", DEEP, bytes(50)), None),
    (
        "split_sentences",
        {"input_file": "a.txt.gz"},
        "a.txt.gz",
        ("", b"x" * 99, b"\x1f\x8b" + bytes(50)),
        None,
    ),
    ("run_classifier", {}, "own/train.tsv", TABLES, None),
    (
        "run_squad",
        {},
        "squad.json",
        (DEEP, '{"data": [{"paragraphs": [{"context": 3, "qas": []}]}]}'),
        None,
    ),
    (
        "run_multiple_choice",
        {"data_format": "race", "train_file": "race"},
        "race/1.json",
        ('{"article": 3}',),
        None,
    ),
    ("run_multiple_choice", {}, "swag.csv", ("sent1,sent2,ending0,ending1\na,b,c,d\n",), None),
    ("run_tagger", {}, "words.txt", WORDS, None),
    (
        "run_tagger",
        {"train_file": "a.conllu", "treebank_column": "upos"},
        "a.conllu",
        TREEBANKS[:3],
        None,
    ),
    ("analyze_attention", {"treebank": "a.conllu"}, "a.conllu", TREEBANKS, None),
    (
        "probe_layers",
        {"train_file": "a.conllu", "dev_file": "a.conllu"},
        "a.conllu",
        TREEBANKS,
        None,
    ),
    ("analyze_attention", {}, "text.txt", ("",), "--input_file=text.txt: contains no"),
    (
        "predict",
        {"model": "served", "input_file": "a.jsonl"},
        "a.jsonl",
        (DEEP,),
        "a.jsonl:1: must be a JSON object",
    ),
    ("predict", {"model": "served"}, "text.txt", ("",), "--input_file=text.txt: contains no rows"),
    *(
        ("predict", {"model": "served"}, f"served/1/{name}", ("", b"x"), "served/1")
        for name in (
            "saved_model.pb",
            "variables/variables.index",
            "variables/variables.data-00000-of-00001",
        )
    ),
    (
        "fill_mask",
        {"init_checkpoint": None, "model": "m.tflite", "max_seq_length": None},
        "m.tflite",
        ARCHIVES,
        None,
    ),
    *(
        (command, {}, f"model/bert_model.ckpt.{part}", ("", b"x" * 500), "model/bert_model.ckpt")
        for command in ("convert_checkpoint", "run_classifier")
        for part in ("index", "data-00000-of-00001")
    ),
    (
        "convert_checkpoint",
        {"input": "hf", "format": "tf1"},
        "hf/model.safetensors",
        SAFETENSORS,
        None,
    ),
    ("export_saved_model", {}, "tuned/task.json", TASK_FILES, None),
    ("export_saved_model", {"labels_file": "labels.txt"}, "labels.txt", (b"\xff\n", ""), None),
    *(
        ("run_classifier", RESUMED, f"tuned/{name}", contents, "tuned")
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
        (
            "probe_layers",
            {name: path},
            path,
            ("a O\n",),
            f"--output_dir=new: would overwrite --{name}={path}",
        )
        for name, path in (("train_file", "new/probes.tsv"), ("vocab_file", "new/probes.txt"))
    ),
    (
        "run_squad",
        {"train_file": "new/predictions.json", "predict_file": "new/predictions.json"},
        "new/predictions.json",
        ("{}",),
        "--output_dir=new: would overwrite --train_file=new/predictions.json",
    ),
    (
        "run_tagger",
        {"dev_file": "new/test_predictions.txt"},
        "new/test_predictions.txt",
        ("a O\n",),
        "--output_dir=new: would overwrite --dev_file=new/test_predictions.txt",
    ),
)
CONFLICTS = (  # command, flags, part of the message
    *(
        (command, {"output_dir": folder}, f"--output_dir={folder}")
        for command in (
            "run_pretraining",
            "run_classifier",
            "run_squad",
            "run_tagger",
            "run_multiple_choice",
        )
        for folder in ("model", "hf")
    ),
    ("run_classifier", {"output_dir": "text.txt/below"}, "text.txt/below"),
    *(
        (
            "run_distillation",
            {"output_dir": folder, **flags},
            f"--output_dir={folder}: contains a {message}",
        )
        for folder, flags, message in (
            ("wide", {}, "model"),
            ("tuned", {}, "run"),
            ("model/", {"student_layers": None, "student_checkpoint": "model"}, "model"),
        )
    ),
    *(
        (
            command,
            {"bert_config_file": "bert_config.json", "init_checkpoint": "wide"},
            "wide/bert_model.ckpt",
        )
        for command in ("run_pretraining", "run_classifier", "run_squad")
    ),
    ("fill_mask", {"init_checkpoint": "tuned"}, "--init_checkpoint=tuned"),
    (
        "evaluate_models",
        {"models": "span,served", "predict_file": "squad.json", "data_dir": None},
        "--models=served: is a classifier",
    ),
    ("evaluate_models", {"predict_file": "squad.json"}, "--predict_file=squad.json"),
    ("run_classifier", {**RESUMED, "max_seq_length": 12}, "max_seq_length"),
    ("run_classifier", {**RESUMED, "train_batch_size": 3}, "--train_batch_size"),
    ("run_classifier", {**RESUMED, "do_lower_case": False}, "do_lower_case"),
    (
        "run_classifier",
        {**RESUMED, "vocab_file": "other_vocab.txt"},
        "--vocab_file=other_vocab.txt",
    ),
    (
        "run_classifier",
        {**RESUMED, "bert_config_file": "wide/bert_config.json"},
        "--output_dir=tuned",
    ),
    (
        "run_classifier",
        {
            **RESUMED,
            "search": True,
            "do_eval": True,
            "train_batch_size": None,
            "search_batch_sizes": 4,
        },
        "--output_dir=tuned: contains a run",
    ),
    *(
        (
            "run_pretraining",
            {"output_dir": "pretrained", "bert_config_file": None, **flags},
            message,
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
    (
        "run_classifier",
        {"do_train": None, "do_eval": True},
        "--init_checkpoint=model: was not trained for this task",
    ),
    (
        "run_pretraining",
        {"do_train": None, "do_eval": True},
        "--output_dir=new: contains no checkpoint",
    ),
)
RECORD_FILES = r"new\.tfrecord(\.(run|shard)\.json)?"
VALID = (  # command, flags, additional files, part of the output, regular expression of new files
    *(
        ("create_pretraining_data", {}, {"text.txt": text}, "wrote", RECORD_FILES)
        for text in (
            b"One line.\r\n\r\nTwo.\r\n",
            b"\xef\xbb\xbfOne.\n\nTwo.\n",
            b"One.\n\n" + b"x" * 5000 + b"\n",
            b"One.\n\n\x00\x01two\n",
            "Ḧé.\n\nß ſ ŉ\n",
        )
    ),
    (
        "create_pretraining_data",
        {},
        {"text.txt": b"caf\xe9 one\n\ntwo \xff\n"},
        "note: 2 lines contain bytes that are not UTF-8, which are ignored",
        RECORD_FILES,
    ),
    ("create_pretraining_data", {"random_seed": -(2**63)}, {}, "wrote", RECORD_FILES),
    *(
        ("split_sentences", {}, {"text.txt": text}, "wrote    1 documents", r"new/sentences\.txt")
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
    (
        "learn_vocab",
        {"vocab_size": 112, "min_count": 1},
        {"text.txt": b"caf\xe9 caf caf\n"},
        "entries",
        r"new\.txt",
    ),
    (
        "predict",
        {"model": "served"},
        {"text.txt": "a\r\n\r\n" + "word " * 3000},
        "new.jsonl: predictions of a classifier for 3 rows",
        r"new\.jsonl",
    ),
    (
        "predict",
        {"model": "served", "input_file": "a.csv"},
        {"a.csv": b'text\n"caf\xe9, ' + b"x" * 140_000 + b'"\n'},
        "1 line contains bytes that are",
        r"new\.jsonl",
    ),
)
# Command, flags, files, part of the message, regular expression of new files or None if it must
# fail.
TRIES = (
    *(
        (command, flags, {path: content}, message or path, None)
        for command, flags, path, contents, message in FILES
        for content in contents
    ),
    *((command, flags, {}, message, None) for command, flags, message in CONFLICTS),
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


@pytest.mark.parametrize(
    ("command", "changes", "files", "message", "writes"),
    TRIES,
    ids=[f"{command}: {message}" for command, _, _, message, _ in TRIES],
)
def test_try(folder, capsys, *, command, changes, files, message, writes):
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    before = world.snapshot(folder)
    package, flags = COMMANDS[command]
    status = scripts.run_main(f"{package}.{command}", **{**flags, **changes})
    output, errors = capsys.readouterr()
    assert status == int(writes is None), errors
    assert "Traceback (most recent" not in errors
    line = errors.strip().rpartition("\n")[2].rpartition("\r")[2]
    assert message in (line if status else output + errors)
    assert not status or len(line) <= LONGEST_MESSAGE
    after = world.snapshot(folder)
    changed = {path for path in before | after if before.get(path) != after.get(path)}
    assert [path for path in changed if writes is None or not re.fullmatch(writes, path)] == []


def test_standard_input_and_output(folder, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\n")))
    assert scripts.run_main("run.predict", model="served", input_file="-", output_file="-") == 0
    assert '"label"' in capsys.readouterr().out
