"""Each benchmark runs once with a toy model.

The tests check the stored comparisons and notes, not the speed.
"""

import collections
import importlib
import json
import pathlib
import re

import pytest

from benchmarks import (
    ablations,
    embeddings,
    encoder,
    kernels,
    litert,
    measurements,
    runtimes,
)
from bert_tf.config import BertConfig
from tests import scripts
from tests.errors import rejects

pytestmark = pytest.mark.extra_large

TOY_SIZES = {
    "hidden_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "intermediate_size": 12,
}
TOY = BertConfig(70, max_position_embeddings=24, type_vocab_size=2, **TOY_SIZES)
OFFICIAL = "tf-models-official"
STATIC = "OpenVINO model with static ranges"
SENTENCES = ["the cat sat on the mat .", "a dog ran", "the dog sat , the cat ran on the mat", "no"]
VOCABULARY = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "the",
    "a",
    "cat",
    "dog",
    "sat",
    "ran",
    "on",
    "mat",
    ".",
    ",",
]


# Flags of a benchmark at toy size, except for the files of `paths`; the (name, peer) of its stored
# comparisons; regular expressions of the beginnings of other printed lines.
Case = collections.namedtuple("Case", "flags comparisons lines", defaults=[()])
NO_COLUMNS = "_\t" * 7
TREEBANK = "\n\n".join(
    f"{comments}\n1\tx\t{NO_COLUMNS}{misc}"
    for comments, misc in (
        ("# newpar\n# text = Dr. Jones came.", "_"),
        ("# text = He left!", "_"),
        ("# text = and so on", "_"),
        ("# newdoc\n# newpar\n# text = One.", "SpaceAfter=No"),
        ("# text = 2 go.", "_"),
        ("# no text", "_"),
    )
)
SHAPES = {"batch_sizes": "2,1", "lengths": "7,9"}
CASES = {
    "ablations": Case(
        {
            "max_seq_length": 12,
            "max_predictions_per_seq": 3,
            "train_batch_size": 4,
            "input_batch_size": 8,
            "records": 20,
        },
        {
            ("Fine-tuning step, lengths of MRPC, grouped by length", "this project, padded"),
            ("Pre-training step with recomputed activations", "this project, activations kept"),
            ("Pre-training with recomputed activations, memory", "this project, activations kept"),
            ("Records with dynamic masks, one core", "this project, static masks"),
            ("Input of one of 4 hosts, one core", "this project, parsing all rows"),
        },
    ),
    "embeddings": Case(
        {"sentences": 9, "batch_size": 4, "max_seq_length": 10},
        {
            (f"Embeddings, {name}{figure}", f"this project, {other}")
            for name, other in (
                ("OpenVINO model", "checkpoint"),
                ("OpenVINO model in int8", "checkpoint"),
                ("OpenVINO model in int8", "OpenVINO model"),
            )
            for figure in ("", ", to the first", ", peak memory")
        },
        ("note: sentence-transformers, PyTorch is not measured: no_such_package",),
    ),
    "encoder": Case(
        SHAPES,
        {
            ("Forward pass, 2 x 7 tokens", f"{OFFICIAL} BertEncoder"),
            ("Forward pass, 2 x 7 tokens", "the machine's matmul of 64 x 64"),
            ("Forward pass, 1 x 9 tokens", f"{OFFICIAL} BertEncoder"),
        },
    ),
    "litert": Case(
        {"batch_sizes": "1,3", "lengths": "9,8", "max_seq_length": 10, "sentences": "1,3"},
        {
            ("LiteRT int8, 1 x 9", f"{OFFICIAL}, float32"),
            ("LiteRT int8, 3 x 8", f"{OFFICIAL}, float32"),
            ("LiteRT int8 from text, 1 sentence", f"{OFFICIAL}'s export"),
            ("LiteRT int8 from text, 3 sentences", f"{OFFICIAL}'s export"),
        },
        (
            "note: ONNX Runtime is not measured: "
            "no_such_package cannot be imported; run pip install",
        ),
    ),
    "packing": Case(
        {"train_batch_size": 3, "max_seq_length": 24, "max_predictions_per_seq": 6},
        {("Pre-training at 24 tokens with fixed shapes, packed", "this project, padded")},
        (r"1\.[5-9]\d* sequences per packed row",),
    ),
    "pretraining_data": Case(
        {"dupe_factor": 2, "copies": 2},
        {
            ("Pre-training records, one core", f"{OFFICIAL} create_pretraining_data"),
            ("Pre-training records, two workers on two cores", "this project, one worker"),
        },
    ),
    "runtimes": Case(
        SHAPES,
        {
            (f"{export}, {dtype}, {shape}", f"this project's {other}")
            for export, dtype, other in (
                ("SavedModel with frozen weights", "float32", "SavedModel"),
                ("SavedModel with frozen weights", "bfloat16", "SavedModel"),
                ("OpenVINO model", "float32", "SavedModel"),
                ("OpenVINO model", "float32", "SavedModel with frozen weights"),
                ("OpenVINO model", "bfloat16", "SavedModel"),
                ("OpenVINO model", "bfloat16", "SavedModel with frozen weights"),
                (STATIC, "int8", "OpenVINO model"),
                ("LiteRT", "int8", "OpenVINO model"),
                ("LiteRT", "int8", STATIC),
            )
            for shape in ("2 x 7", "1 x 9")
        },
        ("note: PyTorch is not measured: no_such_package",),
    ),
    "sentence_splitting": Case(
        {},
        {
            (name, "tf-text StateBasedSentenceBreaker")
            for name in (
                "Splitting text into sentences, one core",
                "Sentence boundaries of a treebank, F1",
            )
        },
        (
            r"sentencex, as used here: precision 100\.0%, recall 66\.7%, F1 80\.0%",
            r"tf-text \w+: precision \d",
        ),
    ),
    "serving": Case(
        {"max_seq_length": 10, "sentences": "1,3"},
        {
            ("Served classifier, 1 sentence", f"{OFFICIAL}'s export"),
            ("Served classifier, 3 sentences", f"{OFFICIAL}'s export"),
        },
    ),
    "tokenization": Case(
        {},
        {
            (f"{language} text to IDs, one core", peer)
            for language in ("English", "Korean")
            for peer in (
                "tf-text FastBertTokenizer",
                "tf-text BertTokenizer",
                "the rules in plain Python",
            )
        },
        ("English, this project: the IDs of 0 of 41 lines differ",),
    ),
    "training_step": Case(
        {"train_batch_size": 3, "max_seq_length": 10, "max_predictions_per_seq": 4},
        {
            (f"{measurement}{in_dtype}", peer)
            for measurement in (
                "Pre-training step, no padding",
                "Fine-tuning step, lengths of MRPC",
            )
            for in_dtype, peer in (
                ("", f"{OFFICIAL}, AdamWeightDecay"),
                (", bfloat16", "this project in float32"),
            )
        },
    ),
    "vocabulary": Case(
        {"vocab_sizes": "40,42"},
        {
            (f"Learning {size} vocabulary entries", "tf-text's WordPiece learner")
            for size in (40, 42)
        },
        tuple(
            rf"this project, {size} requested: \d+ entries; \d\.\d+ tokens per word, 0\.00% "
            for size in (40, 42)
        ),
    ),
}


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    """Returns a dict of the files that benchmarks read and write, by the names of their flags."""
    folder = tmp_path_factory.mktemp("benchmarks")
    (folder / "bert_config.json").write_text(TOY.to_json())
    (folder / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n")
    (folder / "text.txt").write_text("\n".join(SENTENCES * 10) + "\n")
    (folder / "documents.txt").write_text(("\n".join(SENTENCES * 2) + "\n\n") * 3)
    (folder / "treebank.conllu").write_text(TREEBANK)
    files = {
        "treebank": "treebank.conllu",
        "bert_config_file": "bert_config.json",
        "vocab_file": "vocab.txt",
        "text_file": "text.txt",
        "english_file": "text.txt",
        "korean_file": "text.txt",
        "input_file": "documents.txt",
        "results_dir": "results",
    }
    return {name: str(folder / file) for name, file in files.items()}


@pytest.mark.parametrize("name", CASES)
def test_comparisons(name, paths, monkeypatch, capsys):
    case = CASES[name]
    monkeypatch.setattr(measurements, "PAUSE", 0)
    monkeypatch.setattr(measurements, "MIN_SECONDS", 0)
    monkeypatch.setattr(measurements, "VOCAB_FILE", paths["vocab_file"])
    monkeypatch.setattr(encoder, "MATRIX_SIZE", 64)
    monkeypatch.setattr(litert, "ONNX_PACKAGES", ("no_such_package",))
    monkeypatch.setattr(embeddings, "BACKENDS", {"torch": ("PyTorch", ("no_such_package",))})
    monkeypatch.setattr(embeddings, "SIZES", TOY_SIZES)
    peer = runtimes.Runtime("PyTorch", "torch_encoder", ("no_such_package",), ("float32",))
    monkeypatch.setattr(runtimes, "PEERS", (peer,))
    command = importlib.import_module(f"benchmarks.{name}").COMMAND
    known = command.settings.values()
    flags = {flag: value for flag, value in paths.items() if flag in known}
    scripts.run_here(f"benchmarks.{name}", **flags, rounds=1, **case.flags)
    lines = capsys.readouterr().out.splitlines()
    for pattern in case.lines:
        assert any(re.match(pattern, line) for line in lines), (pattern, lines)
    result = json.loads((pathlib.Path(paths["results_dir"]) / f"{name}.json").read_text())
    assert {(row["name"], row["peer"]) for row in result["comparisons"]} == case.comparisons
    assert all(row["ours"] > 0 and row["theirs"] > 0 for row in result["comparisons"])


def test_a_profile_divides_the_time_of_a_request(paths, monkeypatch, capsys):
    monkeypatch.setattr(measurements, "VOCAB_FILE", paths["vocab_file"])
    monkeypatch.setattr(kernels, "MATRIX_SIZE", 64)
    monkeypatch.setattr(kernels, "NUM_REQUESTS", 2)
    config_file = paths["bert_config_file"]
    scripts.run_here("benchmarks.kernels", bert_config_file=config_file, **SHAPES)
    header, *rows = capsys.readouterr().out.splitlines()[-5:]
    names = [
        "request",
        "time",
        "with the trace",
        "matmuls",
        "other kernels",
        "between kernels",
        "ideal matmuls",
    ]
    assert re.split(" {2,}", header) == names
    for row, request in zip(
        rows,
        [f"{dtype}, {shape}" for dtype in ("float32", "bfloat16") for shape in ("2 x 7", "1 x 9")],
        strict=True,
    ):
        assert row.startswith(f"{request} ")
        _, traced, matmuls, others, between, _ = map(float, row.removeprefix(request).split())
        assert matmuls + others + between == pytest.approx(traced, abs=0.3)
        assert others > 0


def test_invalid_settings():
    with rejects("batch_sizes", "has 2 numbers", "`lengths` has 1", value="1,8"):
        measurements.ShapeSettings(batch_sizes=(1, 8), lengths=(32,))
    with rejects("parts", "must be one of length_groups, recompute", value="flops"):
        ablations.AblationSettings(parts=("flops",))
