"""Each benchmark runs once at toy size and prints what it should; how fast it is says nothing here."""

import json
import multiprocessing.dummy
import re
import subprocess
import sys

import pytest
from absl import flags as absl_flags

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
    serving,
    tokenization,
    training_step,
    vocabulary,
)
from benchmarks.tpu_compile import __main__ as tpu_compile
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from tests import scripts

TOY = BertConfig(70, hidden_size=8, num_hidden_layers=1, num_attention_heads=4, intermediate_size=12,
                 max_position_embeddings=24, type_vocab_size=2)
NUMBER = r"[\d,]*\.?\d+"
SENTENCES = ["the cat sat on the mat .", "a dog ran", "the dog sat , the cat ran on the mat", "no"]
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "a", "cat", "dog", "sat", "ran", "on", "mat", ".",
              ","]


@pytest.fixture(autouse=True)
def toy_turns(monkeypatch):
    """Matrix products that benchmarks take turns with are toys too; nobody waits between turns."""
    monkeypatch.setattr(bfloat16, "PRODUCT_WIDTH", 64)
    monkeypatch.setattr(measurements, "PAUSE", 0)


@pytest.fixture
def config_file(tmp_path):
    path = tmp_path / "bert_config.json"
    path.write_text(TOY.to_json())
    return str(path)


@pytest.fixture
def vocab_file(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_text("\n".join(VOCABULARY) + "\n")
    return str(path)


@pytest.fixture
def text_file(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("\n".join(SENTENCES * 10) + "\n")
    return str(path)


@pytest.fixture
def results_dir(tmp_path):
    return str(tmp_path / "results")


def rows(printed, names, columns):
    """The numbers of the printed lines that begin with these names, so many a line, all above 0: list of lists."""
    found = []
    for name in names:
        lines = [line.removeprefix(name) for line in printed.splitlines() if line.startswith(name)]
        assert len(lines) == 1, (name, printed)
        numbers = [float(number.replace(",", "")) for number in re.findall(NUMBER, lines[0])]
        assert len(numbers) == columns, lines
        assert min(numbers) > 0, lines
        found.append(numbers)
    return found


def kept(results_dir, name):
    """The comparisons that a benchmark kept: dict of (name, peer) -> ratio, each of which is that of its figures."""
    with open(f"{results_dir}/{name}.json", encoding="utf-8") as file:
        result = json.load(file)
    assert result["benchmark"] == name
    ratios = {}
    for row in result["comparisons"]:
        expected = row["ours"] / row["theirs"] if row["higher_is_better"] else row["theirs"] / row["ours"]
        assert row["ratio"] == pytest.approx(expected)
        ratios[row["name"], row["peer"]] = row["ratio"]
    return ratios


def test_dynamic_masking(capsys):
    dynamic_masking.measure(dynamic_masking.DynamicMaskingSettings(
        max_seq_length=11, max_predictions_per_seq=3, batch_size=4, batches=2, rounds=1, records=10, cores=1))
    printed = capsys.readouterr().out
    assert printed.startswith("1 cores, batches of 4, length 11, median of 1\n")
    rates = rows(printed, ["records with masks, read ", "records without masks, read ", "read and masked ",
                           "read and masked, whole words "], 2)
    assert rates[0][1] == 1
    assert printed.count("examples/s") == 4


def test_encoder(capsys, config_file, results_dir):
    encoder.measure(encoder.EncoderSettings(
        results_dir=results_dir, bert_config_file=config_file, batch_sizes=("2", "1"), lengths=("7", "9"),
        train_batch_size=3, max_seq_length=10, max_predictions_per_seq=4, rounds=1))
    printed = capsys.readouterr().out
    assert "2048^3 matmul" in printed
    for part in ("forward, batch x length", "step, 3 x 10", "padding, 3 x 10, 42% real"):
        assert part in printed
    for name in ("2 x 7", "1 x 9", "dropout 0.1", "dropout 0.0"):
        assert re.search(rf"^{name} +{NUMBER}s +{NUMBER}s +{NUMBER} +\d+ +\d+%$", printed, re.MULTILINE), printed
    rows(printed, ["forward  ", "forward + backward "], 3)
    assert set(kept(results_dir, "encoder")) == {
        ("Forward pass, 2 x 7 tokens", "tf-models-official BertEncoder"),
        ("Forward pass, 1 x 9 tokens", "tf-models-official BertEncoder"),
        ("Pre-training step, 3 x 10 tokens", "tf-models-official BertPretrainerV2, AdamWeightDecay")}


def test_training_step(capsys, config_file, results_dir):
    training_step.measure(training_step.TrainingStepSettings(
        results_dir=results_dir, bert_config_file=config_file, train_batch_size=3, max_seq_length=10,
        max_predictions_per_seq=4, rounds=1))
    rows(capsys.readouterr().out, training_step.KINDS.values(), 5)
    assert set(kept(results_dir, "training_step")) == {
        (f"{kind}, a step{of_type}", peer) for kind in training_step.KINDS.values() for of_type, peer in (
            ("", "tf-models-official, AdamWeightDecay"), (" in bfloat16", "this project in float32"))}


def test_bfloat16(capsys, config_file, vocab_file, results_dir, monkeypatch):
    monkeypatch.setattr(bfloat16.importlib.util, "find_spec", lambda name: None)
    bfloat16.measure(bfloat16.Bfloat16Settings(
        results_dir=results_dir, bert_config_file=config_file, vocab_file=vocab_file, batch_sizes=("2", "1"),
        lengths=("7", "9"), rounds=1))
    printed = capsys.readouterr().out
    assert "PyTorch is left out: pip install -e '.[peers]'" in printed
    for shape in ("2 x 7", "1 x 9"):
        assert re.search(rf"^{shape} +({NUMBER}s +){{3}}{NUMBER} +{NUMBER} +\d+ +\d+%$", printed, re.MULTILINE), printed
    assert set(kept(results_dir, "bfloat16")) == {
        (f"Export in bfloat16, {shape} tokens", f"{peer} in float32") for shape in ("2 x 7", "1 x 9")
        for peer in ("this project", "tf-models-official")}


def test_input_hosts(capsys):
    input_hosts.measure(input_hosts.InputHostsSettings(
        max_seq_length=12, max_predictions_per_seq=3, batch_size=8, batches=2, rounds=1, records=20, files=2,
        hosts=("2",), parts=("4",)), processes=multiprocessing.dummy)
    printed = capsys.readouterr().out
    assert re.match(r"batches of 8 x 12, a core a host, \d+ cores, median of 1; ", printed)
    tables = printed.split("\n\n")[1:]
    assert len(tables) == 2
    for table in tables:
        found = rows(table, ["2 hosts, each parses everything", "2 hosts, each parses its rows"], 4)
        assert [row[1::2] for row in found] == [[1, 1], [1, 1]]
        rows(table, ["one of 4 alone, each parses its rows"], 4)


def test_input_pipeline(capsys):
    input_pipeline.measure(input_pipeline.InputPipelineSettings(
        max_seq_length=12, max_predictions_per_seq=3, records=20, files=2, batch_size=4, train_batch_size=3, rounds=1,
        sizes=("tiny",)))
    printed = capsys.readouterr().out
    assert printed.startswith("20 records in 2 files, batches of 4 x 12\n")
    rows(printed, ["reading, shuffling, parsing", "skipping in an epoch", "counting"], 1)
    rows(printed, ["training BERT-Tiny"], 2)


def test_length_groups(capsys, config_file):
    length_groups.measure(length_groups.LengthGroupsSettings(
        bert_config_file=config_file, max_seq_length=20, examples=50, batch_size=4, steps=2, rounds=1))
    printed = capsys.readouterr().out
    assert re.match(r"50 examples, 4\d\.\d% of their 20 positions are real\n", printed)
    rows(printed, ["padded ", "grouped by length ", "ratio "], 1)
    assert printed.count("examples/s") == 2


def test_packing(capsys, config_file, results_dir):
    packing.measure(packing.PackingSettings(
        results_dir=results_dir, bert_config_file=config_file, train_batch_size=3, max_seq_length=24,
        max_predictions_per_seq=6, rounds=1))
    printed = capsys.readouterr().out
    (padded,), (packed,) = rows(printed, ["padded "], 4), rows(printed, ["packed  "], 4)
    assert padded[1] == 1
    assert packed[1] > 1.5
    assert packed[0] > 90 > 60 > padded[0]  # per cent of the ids are real
    assert re.search(rf"^packed: {NUMBER} times the sequences a second$", printed, re.MULTILINE)
    assert len(kept(results_dir, "packing")) == 1


def write_documents(path, number):
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n\n".join("\n".join(SENTENCES) for _ in range(number)) + "\n")
    return path


def test_litert(capsys, monkeypatch, config_file, vocab_file, text_file, results_dir):
    monkeypatch.setattr(litert, "ONNX_PACKAGES", ("no_such_package",))
    litert.measure(litert.LiteRTSettings(
        results_dir=results_dir, text_file=text_file, vocab_file=vocab_file, bert_config_file=config_file,
        batch_sizes=(1, 3), lengths=(9, 8), max_seq_length=10, sentences=(1, 3), rounds=1))
    printed = capsys.readouterr().out
    assert printed.startswith("ONNX Runtime is left out, no_such_package cannot be imported: "
                              "pip install -e '.[peers]'\n")
    rows(printed, ["1 x 9 ", "3 x 8 "], 8)
    rows(printed, ["1 sentences", "3 sentences"], 5)
    assert set(kept(results_dir, "litert")) == {
        ("LiteRT int8, 1 x 9", "tf-models-official, float32"), ("LiteRT int8, 3 x 8", "tf-models-official, float32"),
        ("LiteRT int8 from text, 1 sentence", "tf-models-official's export"),
        ("LiteRT int8 from text, 3 sentences", "tf-models-official's export")}


def test_pretraining_data(capsys, tmp_path, vocab_file, results_dir):
    text = tmp_path / "text.txt"
    text.write_text("\n\n".join("\n".join(SENTENCES * 2) for _ in range(3)) + "\n")
    pretraining_data.measure(pretraining_data.PretrainingDataSettings(
        results_dir=results_dir, input_file=str(text), vocab_file=vocab_file, max_seq_length=13,
        max_predictions_per_seq=3, dupe_factor=2, num_output_shards=2, rounds=1))
    printed = capsys.readouterr().out
    assert "0.00 MB of text, dupe_factor 2, length 13, one core, median of 1" in printed
    for name in ("tf-models-official", "this project", "1 worker ", "2 workers"):
        assert re.search(rf"^{name} +{NUMBER} s +{NUMBER} MB/s$", printed, re.MULTILINE), printed
    assert len(re.findall(rf"^ratio {NUMBER}$", printed, re.MULTILINE)) == 2
    assert re.search(rf"^a worker takes {NUMBER} MB/s of text$", printed, re.MULTILINE), printed
    rows(printed, ["1 thread tokenizing ", "2 threads tokenizing ", "8 threads, by their number ",
                   "any threads, by the lock "], 2)
    assert set(kept(results_dir, "pretraining_data")) == {
        ("Pre-training records, one core", "tf-models-official create_pretraining_data")}


def test_workers_that_make_records_start_without_tensorflow():
    code = "import benchmarks.pretraining_data, sys; sys.exit('tensorflow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=scripts.ROOT, check=False).returncode == 0


def test_recompute(capsys, config_file):
    recompute.measure(
        recompute.RecomputeSettings(bert_config_file=config_file, batch_size=2, max_seq_length=9,
                                    max_predictions_per_seq=3, rounds=1),
        run=lambda function, *arguments: function(*arguments))
    printed = capsys.readouterr().out
    for name in ("kept", "recomputed"):
        assert re.search(rf"^activations {name} +peak +{NUMBER} GB +step +{NUMBER} s$", printed, re.MULTILINE)
    assert re.search(rf"^recomputing takes {NUMBER} times the memory and {NUMBER} times the time$", printed,
                     re.MULTILINE)


def test_serving(capsys, config_file, vocab_file, text_file, results_dir):
    serving.measure(serving.ServingSettings(
        results_dir=results_dir, text_file=text_file, vocab_file=vocab_file, bert_config_file=config_file,
        max_seq_length=10, batch_sizes=("1", "3"), rounds=1, threads=2))
    printed = capsys.readouterr().out
    rows(printed, ["1 sentences", "3 sentences"], 9)
    assert float(re.search(r"their answers differ by at most (\S+)", printed)[1]) < 1e-6
    assert re.search(r"matrix products with weights in the optimised graph: \d+ ", printed)
    assert set(kept(results_dir, "serving")) == {
        ("Served classifier, 1 sentence", "tf-models-official's export"),
        ("Served classifier, 3 sentences", "tf-models-official's export")}


def test_served_sentences(text_file):
    sentences = serving.read_sentences(None, 32)
    assert len(set(sentences)) == 32
    assert all(4 <= len(sentence.split()) <= 45 for sentence in sentences)
    with pytest.raises(InputError, match="has 40 sentences, 41 are needed"):
        serving.read_sentences(text_file, 41)


def test_tokenization(capsys, text_file, vocab_file, results_dir):
    tokenization.measure(tokenization.TokenizationSettings(
        results_dir=results_dir, vocab_file=vocab_file, english_file=text_file, korean_file=text_file, batch_size=7,
        turn_bytes=1, rounds=1))
    printed = capsys.readouterr().out
    assert printed.startswith("creating a tokenizer of 15 entries: ")
    assert printed.count("one core, median of 1 rounds") == 4
    differ = re.findall(
        rf"^  ours(?:, with offsets)? +{NUMBER} MB/s +{NUMBER} x plain Python +(\d+) of 41 lines differ$", printed,
        re.MULTILINE)
    assert differ == ["0"] * 8
    assert len(re.findall(rf"^  tf-text \w+ +{NUMBER} MB/s", printed, re.MULTILINE)) == 8
    assert set(kept(results_dir, "tokenization")) == {
        (f"{language} text to ids, one core", peer) for language in ("English", "Korean")
        for peer in ("tf-text FastBertTokenizer", "tf-text BertTokenizer", "the rules in plain Python")}


def test_vocabulary(capsys, text_file, vocab_file, results_dir):
    vocabulary.measure(vocabulary.VocabularySettings(
        results_dir=results_dir, input_file=text_file, vocab_sizes=("40", "42"), other_vocab=vocab_file, rounds=2))
    printed = capsys.readouterr().out
    assert re.match(rf"counted {NUMBER} MB on one core in {NUMBER} s, {NUMBER} MB/s\n", printed)
    assert re.search(rf"^vocab.txt +15 +{NUMBER} +{NUMBER}%", printed, re.MULTILINE), printed
    for size in (40, 42):
        assert re.search(rf"^tokenizers \(ours\) +{size} +\d+ +{NUMBER} +{NUMBER} +0.00% +yes$", printed, re.MULTILINE)
        assert re.search(rf"^tensorflow_text +{size} +\d+ +{NUMBER} +{NUMBER} +{NUMBER}% +\w+$", printed, re.MULTILINE)
    assert set(kept(results_dir, "vocabulary")) == {
        (f"Learning {size} vocabulary entries", "tf-text's WordPiece learner") for size in (40, 42)}


@pytest.mark.parametrize("benchmark", [
    bfloat16, dynamic_masking, encoder, input_hosts, input_pipeline, length_groups, litert, packing, pretraining_data,
    serving, tokenization, tpu_compile, training_step, vocabulary], ids=lambda each: each.__name__)
def test_flags_are_the_settings(benchmark, monkeypatch):
    measured = []
    monkeypatch.setattr(benchmark, "measure", measured.append)
    if benchmark is tokenization:  # it uses one thread, which can be set before the first operation alone
        monkeypatch.setattr(benchmark, "use_one_thread", lambda: None)
    before = set(absl_flags.FLAGS)
    benchmark.define_flags()
    try:
        benchmark.main([])
        helps = {name: absl_flags.FLAGS[name].help for name in set(absl_flags.FLAGS) - before}
    finally:
        for name in set(absl_flags.FLAGS) - before:
            delattr(absl_flags.FLAGS, name)
    settings, = measured
    assert settings == type(settings)()
    assert set(helps) == set(vars(settings))
    assert [name for name, text in helps.items() if len(text.split()) < 2] == []
