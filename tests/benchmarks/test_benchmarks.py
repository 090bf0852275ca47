"""Each benchmark runs once with a toy model. The tests check tables and stored comparisons, not the speed."""

import dataclasses
import json
import multiprocessing.dummy
import pathlib
import re
import subprocess
import sys

import pytest

from benchmarks import (
    bfloat16,
    dynamic_masking,
    encoder,
    input_hosts,
    input_pipeline,
    length_groups,
    litert,
    measurements,
    packing,
    pretraining_data,
    recompute,
    sentence_splitting,
    serving,
    tokenization,
    training_step,
    vocabulary,
)
from benchmarks.accelerator_compile import __main__ as accelerator_compile
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from tests import scripts

pytestmark = pytest.mark.extra_large

TOY = BertConfig(70, hidden_size=8, num_hidden_layers=1, num_attention_heads=4, intermediate_size=12,
                 max_position_embeddings=24, type_vocab_size=2)
NUMBER = r"[\d,]*\.?\d+"
OFFICIAL = "tf-models-official"
SENTENCES = ["the cat sat on the mat .", "a dog ran", "the dog sat , the cat ran on the mat", "no"]
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "a", "cat", "dog", "sat", "ran", "on", "mat", ".",
              ","]


@dataclasses.dataclass(frozen=True)
class Case:
    """A benchmark at toy size, and its expected output.

    Attributes:
      settings: Dict of settings, except for the files of `paths`.
      lines: Regular expressions of the beginnings of printed lines.
      comparisons: Set of (name, peer) of the stored comparisons.
      options: Dict of other arguments of the benchmark's function `measure`.
    """

    settings: dict
    lines: tuple = ()
    comparisons: frozenset = frozenset()
    options: dict = dataclasses.field(default_factory=dict)


NO_COLUMNS = "_\t" * 7
TREEBANK = "\n\n".join(f"{comments}\n1\tx\t{NO_COLUMNS}{misc}" for comments, misc in (
    ("# newpar\n# text = Dr. Jones came.", "_"), ("# text = He left!", "_"), ("# text = and so on", "_"),
    ("# newdoc\n# newpar\n# text = One.", "SpaceAfter=No"), ("# text = 2 go.", "_"), ("# no text", "_")))
SHAPES = {"batch_sizes": ("2", "1"), "lengths": ("7", "9")}
PRETRAINING_STEP = {"train_batch_size": 3, "max_seq_length": 10, "max_predictions_per_seq": 4}
CASES = {
    bfloat16: Case(
        SHAPES, (r"note: PyTorch is not measured, because no_such_package cannot be imported: pip install",),
        {(f"Export in bfloat16, {shape} tokens", "this project in float32") for shape in ("2 x 7", "1 x 9")}),
    dynamic_masking: Case(
        {"max_seq_length": 11, "max_predictions_per_seq": 3, "batch_size": 4, "batches": 2, "records": 10, "cores": 1},
        (f"records with masks, read .*{NUMBER}", f"records without masks, read .*{NUMBER}",
         f"read and masked .*{NUMBER}", f"read and masked, whole words .*{NUMBER}")),
    encoder: Case(
        SHAPES, (rf"2 x 7 +{NUMBER}s +{NUMBER}s +{NUMBER} +\d+ +\d+%",),
        {("Forward pass, 2 x 7 tokens", f"{OFFICIAL} BertEncoder"),
         ("Forward pass, 2 x 7 tokens", "the machine's matmul of 64 x 64"),
         ("Forward pass, 1 x 9 tokens", f"{OFFICIAL} BertEncoder")}),
    input_hosts: Case(
        {"max_seq_length": 12, "max_predictions_per_seq": 3, "batch_size": 8, "batches": 2, "records": 20, "files": 2,
         "hosts": ("2",), "parts": ("4",)},
        (f"2 hosts, each parses everything .*{NUMBER}", f"only one of 4, each parses its rows .*{NUMBER}",
         rf"2 hosts, each parses its rows +{NUMBER} +1\.00 x +{NUMBER} +1\.00 x"),
        options={"processes": multiprocessing.dummy}),
    input_pipeline: Case(
        {"max_seq_length": 12, "max_predictions_per_seq": 3, "records": 20, "files": 2, "batch_size": 4,
         "train_batch_size": 3, "sizes": ("tiny",), "input_file": None},
        tuple(f"{name} .*{NUMBER}" for name in (
            "reading, shuffling, parsing", "skipping in an epoch", "counting", "training BERT-Tiny"))),
    length_groups: Case(
        {"max_seq_length": 20, "examples": 50, "batch_size": 4, "steps": 2},
        (r"50 examples, 4\d\.\d% of their 20 positions are not padding", f"ratio .*{NUMBER}")),
    litert: Case(
        {"batch_sizes": (1, 3), "lengths": (9, 8), "max_seq_length": 10, "sentences": (1, 3)},
        (r"note: ONNX Runtime is not measured, because no_such_package cannot be imported: pip install",),
        {("LiteRT int8, 1 x 9", f"{OFFICIAL}, float32"), ("LiteRT int8, 3 x 8", f"{OFFICIAL}, float32"),
         ("LiteRT int8 from text, 1 sentence", f"{OFFICIAL}'s export"),
         ("LiteRT int8 from text, 3 sentences", f"{OFFICIAL}'s export")}),
    packing: Case(
        {"train_batch_size": 3, "max_seq_length": 24, "max_predictions_per_seq": 6},
        (r"padded +[45]\d\.\d% +1\.000 ", r"packed +9\d\.\d% +1\.[5-9]\d* "),
        {("Pre-training at 24 tokens with fixed shapes, packed", "this project, padded")}),
    pretraining_data: Case(
        {"max_seq_length": 13, "max_predictions_per_seq": 3, "dupe_factor": 2, "num_output_shards": 2},
        (f"2 workers .*{NUMBER}",),
        {("Pre-training records, one core", f"{OFFICIAL} create_pretraining_data")}),
    recompute: Case(
        {"batch_size": 2, "max_seq_length": 9, "max_predictions_per_seq": 3},
        tuple(f"{name} .*{NUMBER}" for name in ("activations kept", "activations recomputed", "recomputing takes")),
        options={"run": lambda function, *arguments: function(*arguments)}),
    sentence_splitting: Case(
        {"turn_bytes": 1},
        (rf"sentencex \(ours\) +{NUMBER} MB/s", rf"tf-text \w+ +{NUMBER} MB/s",
         r"sentencex \(ours\) +precision 100\.0%, recall 66\.7%, F1 80\.0%", r"tf-text \w+ +precision \d"),
        {(name, "tf-text StateBasedSentenceBreaker") for name in (
            "Splitting text into sentences, one core", "Sentence boundaries of a treebank, F1")}),
    serving: Case(
        {"max_seq_length": 10, "batch_sizes": ("1", "3"), "threads": 2},
        (r".*their answers differ by at most (0|\d\S*e-(0[7-9]|[1-9]\d))",
         r"matrix multiplications with weights in the optimized graph: \d+ "),
        {("Served classifier, 1 sentence", f"{OFFICIAL}'s export"),
         ("Served classifier, 3 sentences", f"{OFFICIAL}'s export")}),
    tokenization: Case(
        {"batch_size": 7, "turn_bytes": 1},
        tuple(rf"  {name} +{NUMBER} MB/s +{NUMBER} x plain Python +{differing} of 41 lines differ"
              for name, differing in (("ours", 0), ("ours, with offsets", 0), (r"tf-text \w+", r"\d+"))),
        {(f"{language} text to ids, one core", peer) for language in ("English", "Korean")
         for peer in ("tf-text FastBertTokenizer", "tf-text BertTokenizer", "the rules in plain Python")}),
    training_step: Case(
        {**PRETRAINING_STEP, "kinds": tuple(training_step.KINDS)}, (),
        {(f"{kind}, a step{of_type}", peer) for kind in training_step.KINDS.values() for of_type, peer in (
            ("", f"{OFFICIAL}, AdamWeightDecay"), (" in bfloat16", "this project in float32"))}),
    vocabulary: Case(
        {"vocab_sizes": ("40", "42"), "rounds": 2},
        tuple(rf"tokenizers \(ours\) +{size} +\d+ +{NUMBER} +{NUMBER} +0\.00% +yes" for size in (40, 42)),
        {(f"Learning {size} vocabulary entries", "tf-text's WordPiece learner") for size in (40, 42)}),
}


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    """Returns a dict of the files that benchmarks read and write, by the names of their settings."""
    folder = tmp_path_factory.mktemp("benchmarks")
    (folder / "bert_config.json").write_text(TOY.to_json())
    (folder / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n")
    (folder / "text.txt").write_text("\n".join(SENTENCES * 10) + "\n")
    (folder / "documents.txt").write_text(("\n".join(SENTENCES * 2) + "\n\n") * 3)
    (folder / "treebank.conllu").write_text(TREEBANK)
    files = {"treebank": "treebank.conllu", "bert_config_file": "bert_config.json",
             "vocab_file": "vocab.txt", "other_vocab": "vocab.txt",
             "text_file": "text.txt", "english_file": "text.txt", "korean_file": "text.txt",
             "input_file": "documents.txt", "results_dir": "results",
             "models_dir": "models"}
    return {name: str(folder / file) for name, file in files.items()}


def get_settings(benchmark, values, monkeypatch):
    """Returns a benchmark's settings, read from flags with these values."""
    found = []
    with monkeypatch.context() as patch, scripts.defined(benchmark) as flags:
        patch.setattr(benchmark, "measure", found.append)
        # Some benchmarks limit TensorFlow to one thread, which is possible only at the start.
        patch.setattr(tokenization, "use_one_thread", lambda: None)
        benchmark.main([])
        settings, = found
        assert set(flags) == set(vars(settings))
        assert [name for name, flag in flags.items() if len(flag.help.split()) < 2] == []
        assert settings == type(settings)()
    return dataclasses.replace(settings, **{name: value for name, value in values.items() if name in flags})


@pytest.mark.parametrize("benchmark", CASES, ids=lambda module: module.__name__)
def test_output(benchmark, paths, monkeypatch, capsys):
    case = CASES[benchmark]
    monkeypatch.setattr(measurements, "PAUSE", 0)
    monkeypatch.setattr(encoder, "PRODUCT_WIDTH", 64)
    monkeypatch.setattr(bfloat16, "TORCH_PACKAGES", ("no_such_package",))
    monkeypatch.setattr(litert, "ONNX_PACKAGES", ("no_such_package",))
    settings = get_settings(benchmark, {**paths, "rounds": 1, **case.settings}, monkeypatch)
    benchmark.measure(settings, **case.options)
    lines = capsys.readouterr().out.splitlines()
    for pattern in case.lines:
        assert any(re.match(pattern, line) for line in lines), (pattern, lines)
    if case.comparisons:
        name = benchmark.__name__.rpartition(".")[2]
        result = json.loads((pathlib.Path(paths["results_dir"]) / f"{name}.json").read_text())
        assert {(row["name"], row["peer"]) for row in result["comparisons"]} == case.comparisons


def test_flags_of_accelerator_compile(monkeypatch):
    get_settings(accelerator_compile, {}, monkeypatch)


def test_workers_that_create_records_start_without_tensorflow():
    code = "import benchmarks.pretraining_data, sys; sys.exit('tensorflow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=scripts.ROOT, check=False).returncode == 0


def test_served_sentences(paths):
    sentences = serving.read_sentences(None, 32)
    assert len(set(sentences)) == 32
    assert all(4 <= len(sentence.split()) <= 45 for sentence in sentences)
    with pytest.raises(InputError, match="has 40 sentences, but a batch requires 41"):
        serving.read_sentences(paths["text_file"], 41)
