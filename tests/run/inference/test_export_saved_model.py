"""run.export_saved_model: files and output of each format.

The terminal scripts print the same for all formats.
"""

import io
import json
import re
import sys
from types import SimpleNamespace

import pytest
import tensorflow as tf
import tensorflow_text  # noqa: F401, registers the kernels of an export's tokenizer

import bert_tf
from bert_tf import files
from bert_tf.serving import openvino_ranges
from bert_tf.serving.litert import LiteRTModel
from data_prep.datasets import tag_schemes
from run.inference import export
from run.inference.request_settings import CalibrationSettings
from tests import remote_folders, scripts
from tests.errors import Message, raises_message, rejects
from tests.variants import mark_variants

pytestmark = [pytest.mark.large, pytest.mark.usefixtures("in_toys")]

EXPORT = "run.export_saved_model"
CONTEXT = "The debugger stops at the first line. " * 9
TERMINAL = {  # Directory -> task, script, and its flags.
    "pretrained": ("masked_lm", "run.fill_mask", {"text": ("a [MASK]", "word " * 40 + "[MASK]")}),
    "squad": (
        "span_labeler",
        "run.answer",
        {"context": CONTEXT, "question": ("What stops?", "Where? " * 9)},
    ),
}


def test_a_tagger_tags_every_word_as_in_run_tagger(tmp_path):
    """40 words, in several windows of 20 tokens, for a checkpoint and both formats of exports."""
    words = [
        ("the", "debugger", "stops", "at", "Mary", "Shelley", ".")[number * number % 7]
        for number in range(40)
    ]
    (tmp_path / "words.txt").write_text("\n".join(f"{word} O" for word in words) + "\n")
    (tmp_path / "text.txt").write_text(" ".join(words) + "\n")
    scripts.run_here(
        "run.run_tagger",
        init_checkpoint="tagger",
        output_dir=tmp_path / "tagged",
        do_predict=True,
        test_file=tmp_path / "words.txt",
        max_seq_length=20,
    )
    expected = [
        line.split()[-1]
        for line in (tmp_path / "tagged" / "test_predictions.txt").read_text().splitlines()
    ]
    assert len(expected) == 40
    assert len({*expected}) > 1
    scripts.run_here(
        EXPORT,
        init_checkpoint="tagger",
        export_dir=tmp_path / "served",
        with_litert="float32",
        lengths=20,
        batch_sizes=2,
    )
    for model in ("tagger", tmp_path / "served", tmp_path / "served" / "1" / "model.tflite"):
        scripts.run_here(
            "run.predict",
            model=model,
            input_file=tmp_path / "text.txt",
            output_file=tmp_path / "tags.jsonl",
        )
        row = json.loads((tmp_path / "tags.jsonl").read_text())
        # run_tagger writes valid IOB2.
        assert (row["words"], tag_schemes.to_iob2(row["tags"]), row["was_cut"]) == (
            words,
            expected,
            False,
        )


def test_bfloat16(tmp_path):
    scripts.run_here(
        EXPORT,
        init_checkpoint="tagger",
        export_dir=tmp_path,
        mixed_precision="bfloat16",
        weights="bfloat16",
    )
    variables = tf.train.load_checkpoint(str(tmp_path / "1" / "variables" / "variables"))
    assert tf.bfloat16 in variables.get_variable_to_dtype_map().values()


@pytest.mark.extra_large
def test_litert_in_a_remote_directory(capsys):
    directory = remote_folders.new_folder()
    scripts.run_here(
        EXPORT,
        init_checkpoint="tagger",
        export_dir=directory,
        format="litert",
        weights="int8",
        max_seq_length=17,
        lengths="8,64",
        batch_sizes=2,
    )
    output, errors = capsys.readouterr()
    assert "converting to LiteRT" in errors
    assert output.startswith(
        f"{directory}/model_int8.tflite: LiteRT model of a token_classifier with int8 weights, 0."
    )
    assert re.search(
        r"inputs text, up to 17 tokens; largest difference from the original model: "
        r"\d\.\de-\d\d \(logits\)$",
        output.strip(),
    )
    assert list(files.at(directory).names()) == ["model_int8.tflite"]
    with files.at(f"{directory}/model_int8.tflite").local_copy() as path:
        assert LiteRTModel(path).metadata.labels == ("B-PER", "I-PER", "O")


def test_litert_for_mediapipe(tmp_path, capsys):
    scripts.run_here(
        EXPORT,
        init_checkpoint="sst",
        export_dir=tmp_path,
        format="litert",
        metadata="mediapipe",
        max_seq_length=17,
    )
    output, errors = capsys.readouterr()
    assert re.search(
        r"inputs text, up to 17 tokens; largest difference from the original model: "
        r"\d\.\de-\d\d \(probabilities\)$",
        output.strip(),
    )
    assert "note: MediaPipe's tokenizer reads these parts of texts differently: capital" in errors
    model = LiteRTModel(str(tmp_path / "model_float32.tflite"))
    assert model.metadata.labels == ("0", "1")
    assert model(text=["word 3"])["probabilities"].shape == (1, 2)


@pytest.mark.parametrize(
    ("flags", "argument", "problem"),
    [
        ({"init_checkpoint": "tagger"}, "metadata", "classifiers and encoders"),
        ({"init_checkpoint": "sst", "lengths": 16}, "lengths", "one graph"),
        ({"init_checkpoint": "sst", "batch_sizes": 2}, "batch_sizes", "one graph"),
        ({"init_checkpoint": "sst", "format": "onnx"}, "metadata", "`format`=litert"),
    ],
)
def test_exports_that_mediapipe_does_not_read(tmp_path, flags, argument, problem):
    values = {"format": "litert", "metadata": "mediapipe", "export_dir": tmp_path / "m"} | flags
    with rejects(argument, problem):
        scripts.run_here(EXPORT, **values)
    assert not (tmp_path / "m").exists()


OPENVINO_INT8 = {"init_checkpoint": "sst", "format": "openvino", "weights": "int8"}


@pytest.mark.parametrize("name", mark_variants(["texts.txt", "rows.tsv"], "rows.tsv"))
def test_static_ranges_from_a_file(tmp_path, capsys, name):
    pytest.importorskip("openvino")
    pytest.importorskip("nncf")
    (tmp_path / "texts.txt").write_text("word 3\n\nword 1 word 2\n")
    (tmp_path / "rows.tsv").write_text("number\treview\n1\tword 3\n2\tword 1 word 2\n")
    columns = {"columns": "review"} if name == "rows.tsv" else {}
    scripts.run_here(
        EXPORT,
        **OPENVINO_INT8,
        **columns,
        calibration_file=tmp_path / name,
        export_dir=tmp_path / "m",
        max_seq_length=17,
    )
    output = capsys.readouterr().out
    size = sum(path.stat().st_size for path in (tmp_path / "m").iterdir()) / 1e6
    assert re.fullmatch(
        rf"{tmp_path}/m/model.xml: openvino model of a classifier with int8 weights, "
        rf"{size:.1f} MB; "
        r"inputs text, up to 17 tokens; largest difference from the original model: \d\.\de-\d\d "
        r"\(logits\)\n",
        output,
    )
    assert {path.name for path in (tmp_path / "m").iterdir()} == {"model.bin", "model.xml"}
    assert bert_tf.load(str(tmp_path / "m" / "model.xml"))(text=["word 3"])["label"].shape == (1,)


@pytest.mark.parametrize(
    ("flags", "argument", "problem"),
    [
        ({"calibration_file": "empty"}, "calibration_file", "contains no rows"),
        ({"calibration_file": "missing"}, "calibration_file", "does not exist"),
        (
            {"init_checkpoint": "pretrained", "task": "masked_lm", "max_seq_length": 29},
            "calibration_file",
            "contains no [MASK]",
        ),
        (
            {"init_checkpoint": "tagger", "calibration_file": "blank"},
            "calibration_file",
            "contains no words",
        ),
        ({"weights": "float16"}, "calibration_file", "`weights`=int8"),
        ({"format": "litert"}, "calibration_file", "`format`=openvino"),
        ({"calibration_file": None, "columns": "a"}, "columns", "`calibration_file`"),
    ],
)
def test_files_of_texts_that_give_no_ranges(tmp_path, flags, argument, problem):
    (tmp_path / "texts").write_text("word")
    (tmp_path / "empty").write_text("")
    (tmp_path / "blank").write_text("\n\n")
    flags = OPENVINO_INT8 | {"calibration_file": "texts"} | flags
    if flags["calibration_file"]:
        flags["calibration_file"] = tmp_path / flags["calibration_file"]
    with rejects(argument, problem):
        scripts.run_here(EXPORT, **flags, export_dir=tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_a_missing_package_is_reported_first(tmp_path, monkeypatch):
    pytest.importorskip("openvino")
    monkeypatch.setitem(sys.modules, "nncf", None)
    (tmp_path / "texts").write_text("word")
    flags = OPENVINO_INT8 | {"calibration_file": tmp_path / "texts", "export_dir": tmp_path / "m"}
    with rejects("calibration_file", "requires nncf", "pip install"):
        scripts.run_here(EXPORT, **flags)
    assert not (tmp_path / "m").exists()


def test_a_sample_of_texts(tmp_path):
    """All rows of a short file, and some rows from everywhere in a long one."""
    path = tmp_path / "texts"
    settings = SimpleNamespace(
        served_task=SimpleNamespace(kind="encoder", pairs=False),
        calibration=CalibrationSettings(calibration_file=str(path)),
    )
    path.write_text("b\na\n")
    assert export.sample_texts(settings) == {"text": ["b", "a"]}
    numbers = list(map(str, range(3_000)))
    path.write_text("\n".join(numbers))
    (sample,) = export.sample_texts(settings).values()
    assert len({*sample}) == openvino_ranges.MAX_EXAMPLES
    assert {*sample} <= {*numbers}
    assert {int(text) // 300 for text in sample} == {*range(10)}
    assert export.sample_texts(settings) == {"text": sample}


@pytest.fixture(scope="module")
def served(toys, tmp_path_factory):
    """Directory with a SavedModel for each of TERMINAL."""
    folder = tmp_path_factory.mktemp("served")
    for name, (task, *_) in TERMINAL.items():
        scripts.run_here(
            EXPORT,
            export_dir=folder / name,
            init_checkpoint=toys / name,
            task=task,
            top_k=4,
            max_seq_length=29,
        )
    return folder


@pytest.mark.parametrize("name", TERMINAL)
def test_the_terminal_prints_the_same_for_a_checkpoint_and_its_export(served, name, capsys):
    _, script, request = TERMINAL[name]
    printed = []
    for flags in ({"model": served / name}, {"init_checkpoint": name, "max_seq_length": 29}):
        capsys.readouterr()
        scripts.run_here(script, top_k=4, **flags, **request)
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]
    lines = printed[0].splitlines()
    if name == "pretrained":
        assert lines[0] == "a [MASK]"
        assert len(lines[1].split("   ")) == 4
        assert (
            lines[-1]
            == "  the text exceeds 29 tokens and was truncated, possibly including a [MASK]"
        )
        return
    assert lines[0] == "What stops?"
    answer, span = lines[1].strip().split("  ")
    start, end = map(int, span.strip("[]").split(":"))
    assert CONTEXT[start:end] == answer
    scores = [float(line.split()[0]) for line in lines[2:6]]
    assert scores == sorted(scores, reverse=True)
    assert lines[-1] == "  the question or the context exceeds 29 tokens and was truncated"


@pytest.mark.extra_large
def test_pairs(tmp_path, monkeypatch, capsys):
    """run.fill_mask and run.predict give the same for all formats.

    The texts are the paper's examples, and a single text.
    """
    first = "the man went to [MASK] store ||| he bought a gallon [MASK] milk"
    second = "the man [MASK] to the store"
    options = {
        "init_checkpoint": "pretrained",
        "task": "masked_lm",
        "pairs": True,
        "max_seq_length": 29,
    }
    scripts.run_here(
        EXPORT, export_dir=tmp_path, with_litert="float32", lengths=29, batch_sizes=1, **options
    )
    assert "serving_default (text_a, text_b)" in capsys.readouterr().out
    (tmp_path / "pairs.txt").write_text(f"{first}\n{second} ||| \n")
    printed = []
    for flags in (
        {"model": tmp_path / "1" / "model.tflite"},
        {"model": tmp_path},
        {"init_checkpoint": "pretrained", "max_seq_length": 29},
    ):
        monkeypatch.setattr(
            "sys.stdin", io.TextIOWrapper(io.BytesIO(f"{first}\n{second}".encode()))
        )
        scripts.run_here("run.fill_mask", **flags)
        printed.append(capsys.readouterr().out)
        scripts.run_here("run.fill_mask", text=first, **flags)
        assert capsys.readouterr().out == printed[-1][: printed[-1].index(f"{second}\n")]
        predicted = (
            flags
            if "model" in flags
            else {**options, "model": "pretrained", "init_checkpoint": None}
        )
        scripts.run_here(
            "run.predict",
            input_file=tmp_path / "pairs.txt",
            output_file=tmp_path / "answers.jsonl",
            **predicted,
        )
        rows = [json.loads(line) for line in (tmp_path / "answers.jsonl").read_text().splitlines()]
        capsys.readouterr()
        lines = printed[-1].splitlines()
        assert lines[::4] == [first, second]
        assert lines[1:3] == [
            "  " + "   ".join(f"{each['piece']} {each['probability']:.3f}" for each in mask)
            for mask in rows[0]["masks"]
        ]
        assert lines[3] == f"  IsNext {rows[0]['is_next']:.3f}"
        assert len(rows[1]["masks"]) == len(lines) - 5 == 1
    assert printed[0] == printed[1] == printed[2]


def test_a_second_text_for_an_export_of_single_texts(served, monkeypatch, capsys):
    """It is a part of the text then."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a ||| [MASK]")))
    capsys.readouterr()
    for flags in ({}, {"text": "a ||| [MASK]"}):
        scripts.run_here("run.fill_mask", model=served / "pretrained", **flags)
        lines = capsys.readouterr().out.splitlines()
        assert (len(lines), lines[0]) == (2, "a ||| [MASK]")


def test_exports_that_cannot_answer(served):
    for name, flags, message in (
        (
            "pretrained",
            {},
            Message("model", "/pretrained", "must be of kind span_labeler", "kind masked_lm"),
        ),
        (
            "squad",
            {"top_k": 9},
            Message("top_k", "must be at most 4", "`top_k` of the export", "/squad", value=9),
        ),
    ):
        with raises_message(message):
            scripts.run_here("run.answer", model=served / name, question="a", context="b", **flags)
