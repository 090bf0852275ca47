"""run.analyze_attention: what it finds of a model made by hand, going on after an end, importance, what it refuses."""

import csv
import json

import numpy as np
import pytest

from bert_tf import files, run_state
from bert_tf.cli import places
from bert_tf.cli.model_settings import ModelSettings, TokenizerSettings
from bert_tf.errors import InputError
from bert_tf.tokenization import BertTokenizer
from data_prep.tasks import treebank
from run.finetuning.fine_tuned import FineTuned
from run.finetuning.settings import DataSettings
from run.inside import corpus as corpus_job
from run.inside import corpus_reading, corpus_results, importance, requests
from run.inside.corpus_sums import STATE_FILE, Sums, relations_of
from run.inside.observing import Observer
from run.inside.settings import (
    AnalyzeAttentionSettings,
    AttentionReportSettings,
    CorpusSettings,
    ImportanceSettings,
    LookedAtSettings,
)
from tests import remote_folders, state_files
from tests.settings import resolved

WORDS = ["the", "cat", "dog", "sat", "unaffable", "on", "mat"]
OUTPUTS = {"analysis.json", "analysis.npz", "heads.tsv", "measures.png", "relations.png", "relations.tsv", "state.npz"}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """A folder with texts and a treebank, in which the head of "right" is the word before, of "left" the word after."""
    folder = tmp_path_factory.mktemp("corpus")
    rng = np.random.default_rng(5)
    texts = [" ".join(rng.choice(WORDS, rng.integers(1, 8))) for _ in range(30)]
    (folder / "texts.txt").write_text("\n".join([*texts, "", "the cat ||| dog sat"]) + "\n")
    with (folder / "bank.conllu").open("w") as file:
        for _ in range(20):
            size = rng.integers(2, 6)
            for number in range(1, size + 1):
                head = number - 1 if number < 3 else number + 1 if number < size else 0
                name = "root" if not head else "right" if head < number else "left:<x>"
                file.write(f"{number}\t{rng.choice(['the', 'cat', 'dog'])}\t_\tX\t_\t_\t{head}\t{name}\t_\t_\n")
            file.write("\n")
    return folder


def analyze(shifting, output_dir, importance=None, data=None, **corpus):
    settings = AnalyzeAttentionSettings(
        ModelSettings(init_checkpoint=str(shifting)), TokenizerSettings(max_seq_length=16),
        data or DataSettings(), CorpusSettings(output_dir=str(output_dir), **corpus),
        importance or ImportanceSettings())
    corpus_job.run(resolved(settings))
    return output_dir


@pytest.fixture(scope="module")
def flags(corpus):
    """Settings of an analysis of several windows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpus_reading, "WINDOW", 8)
        yield {"input_file": str(corpus / "texts.txt"), "treebank": str(corpus / "bank.conllu"), "batch_size": 4,
               "distance_texts": 10}


@pytest.fixture(scope="module")
def analysis(shifting, flags, tmp_path_factory):
    """The folder of an analysis that nothing disturbed."""
    return analyze(shifting, tmp_path_factory.mktemp("analysis") / "out", **flags)


@pytest.fixture
def few_pictures(monkeypatch):
    """Without the one that takes longest, which another test has made."""
    monkeypatch.setattr(corpus_results, "draw_measures", lambda *_: None)


def rows_of(path):
    with path.open() as file:
        return list(csv.DictReader(file, delimiter="\t"))


def test_a_head_that_attends_to_the_token_before_is_found_as_such(shifting, flags, analysis):
    assert {path.name for path in analysis.iterdir()} == OUTPUTS
    state_files.assert_holds(analysis / "analysis.json", {
        "init_checkpoint": str(shifting), "input_file": run_state.fingerprint([flags["input_file"]]),
        "treebank": run_state.fingerprint([flags["treebank"]]), "max_texts": None, "batch_size": 4,
        "distance_texts": 10, "max_seq_length": 16})
    first, second = rows_of(analysis / "heads.tsv")
    assert float(first["previous"]) > 0.95 > 0.1 > float(first["next"])
    assert float(second["next"]) > 0.95 > 0.1 > float(second["previous"])
    assert float(first["other_text"]) < 0.3  # only the first token of the one second text sees the first
    found = {(row["relation"], row["direction"]): row for row in rows_of(analysis / "relations.tsv")}
    assert set(found) == {(name, direction) for name in ("all", "right", "left:<x>")
                          for direction in ("dependent to head", "head to dependent")}
    for name, direction, head, offset in (("right", "dependent to head", "0", "-1"),
                                          ("right", "head to dependent", "1", "-1"),
                                          ("left:<x>", "dependent to head", "1", "1")):
        row = found[name, direction]
        assert (row["head"], row["offset"]) == (head, offset)
        assert float(row["accuracy"]) > 0.95
        assert float(row["low"]) < float(row["accuracy"]) <= float(row["high"])
        assert float(row["held_out"]) == pytest.approx(float(row["accuracy"]))
        assert float(row["offset_accuracy"]) >= 0.5


@pytest.mark.usefixtures("few_pictures")
def test_going_on_ends_with_the_same_sums(shifting, flags, analysis, tmp_path, monkeypatch):
    """Stopped after windows of texts and of sentences, to the last bit; with other settings it does not go on there."""
    write, written = Sums.write, []

    def stopped(sums, folder):
        write(sums, folder)
        written.append(folder)
        if len(written) in (1, 6):
            raise KeyboardInterrupt

    monkeypatch.setattr(Sums, "write", stopped)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            analyze(shifting, tmp_path / "parts", **flags)
    analyze(shifting, tmp_path / "parts", **flags)
    for name in ("state.npz", "analysis.npz"):
        ours, theirs = np.load(tmp_path / "parts" / name), np.load(analysis / name)
        for key in theirs.files:
            np.testing.assert_array_equal(ours[key], theirs[key], err_msg=key)
    for name in ("heads.tsv", "relations.tsv"):
        assert (tmp_path / "parts" / name).read_bytes() == (analysis / name).read_bytes()
    with pytest.raises(InputError, match="holds a run with `batch_size` 4, not 8"):
        analyze(shifting, tmp_path / "parts", **{**flags, "batch_size": 8})


@pytest.mark.usefixtures("few_pictures")
def test_a_folder_that_only_tensorflow_knows(shifting, flags, analysis):
    folder = f"{remote_folders.new_folder()}/out"
    analyze(shifting, folder, **flags)
    assert set(files.names_in(folder)) == OUTPUTS - {"measures.png"}
    for name in ("heads.tsv", "relations.tsv"):
        assert files.read_bytes(f"{folder}/{name}") == (analysis / name).read_bytes(), name


def test_measures_are_those_of_the_texts_one_by_one(analysis, shifting, corpus):
    """By the report's numbers of each text alone."""
    looked_at = LookedAtSettings(input_file=str(corpus / "texts.txt"), max_texts=100)
    observer = Observer(resolved(AttentionReportSettings(
        ModelSettings(init_checkpoint=str(shifting)), TokenizerSettings(max_seq_length=16), looked_at=looked_at,
        output_file=str(corpus / "report.html"))))
    seen = [each for request in requests.given(looked_at, "encoder") for each in observer(request)]
    tokens = sum(len(each.pieces) for each in seen)
    expected = sum(each.measures[:, 0] * len(each.pieces) for each in seen) / tokens
    np.testing.assert_allclose(np.load(analysis / "analysis.npz")["measures"][:, 0], expected, rtol=1e-4)


@pytest.mark.usefixtures("few_pictures")
def test_importance(toys, corpus, tmp_path, monkeypatch):
    """The score with all heads and with none is that of any order; a second start computes nothing again."""
    flags = {"input_file": str(corpus / "texts.txt"), "distance_texts": 0, "max_texts": 5,
             "importance": ImportanceSettings(importance_examples=8, curve_points=2, random_orders=1,
                                              random_seed=-2**63, train_batch_size=4),
             "data": DataSettings(data_dir=str(toys / "data"))}
    folder = analyze(toys / "sst", tmp_path / "out", **flags)
    curve = rows_of(folder / "curve.tsv")
    assert [row["heads_out"] for row in curve] == ["0", "2", "4"]
    assert curve[0]["importance"] == curve[0]["random_0"]
    assert curve[-1]["importance"] == curve[-1]["random_0"]
    values = {(row["layer"], row["head"]): float(row["importance"]) for row in rows_of(folder / "importance.tsv")}
    for layer in "01":
        assert np.hypot(values[layer, "0"], values[layer, "1"]) == pytest.approx(1, abs=1e-4)
    assert (folder / "curve.png").exists()
    assert json.loads((folder / "importance.json").read_text())["num_examples"] == 8
    monkeypatch.setattr(FineTuned, "make_model", None)
    settings = resolved(AnalyzeAttentionSettings(
        ModelSettings(init_checkpoint=str(toys / "sst")), TokenizerSettings(max_seq_length=16), flags["data"],
        CorpusSettings(str(corpus / "texts.txt"), output_dir=str(folder)), flags["importance"]))
    again = importance.Job(settings).run(str(folder))
    assert [f"{score:.5f}" for score in again.scores["importance"]] == [row["importance"] for row in curve]


def test_what_was_chosen_on_one_half_is_judged_on_the_other():
    sums = Sums.empty(2)
    hits = np.zeros([2, 4, 2, 2], bool)
    hits[:, 0::2, 0] = True  # head 0 is right in even sentences, head 1 in odd ones, and in one even one
    hits[:, 1::2, 1] = True
    hits[:, 0, 1] = True
    sums.add_dependencies([0, 1, 2, 3], [["a", "root"]] * 4, np.array([[1, -1]] * 4), hits)
    first = relations_of(sums)[0]
    assert (first.name, first.cases, first.head) == ("all", 4, 1)
    assert first.score.value == 0.75
    assert first.held_out == pytest.approx(1 / 4)  # head 1 on the even ones: 1 of 2; head 0 on the odd ones: 0 of 2
    assert (first.offset, first.baseline.value) == (1, 1.0)
    assert first.baseline.low == pytest.approx(4 / (4 + 1.96**2), abs=1e-3)  # Wilson's, of 4 of 4


@pytest.mark.parametrize(("settings", "message"), [
    ({}, "`input_file` is required without `treebank`"),
    ({"input_file": "nothing.txt"}, "`input_file`=nothing.txt: no such file"),
])
def test_settings_that_do_not_fit(settings, message):
    with pytest.raises(InputError, match=message):
        places.check(AnalyzeAttentionSettings(ModelSettings(init_checkpoint="m"), TokenizerSettings(__file__),
                                              corpus=CorpusSettings(output_dir="out", **settings)))


def test_bytes_that_are_not_utf8_are_left_out_and_said(tmp_path, capsys):
    path, note = str(tmp_path / "texts.txt"), "texts.txt: 1 line has bytes that are not UTF-8, which are left out\n"
    (tmp_path / "texts.txt").write_bytes(b"the c\xe9at\ndog\n")
    found = requests.given(LookedAtSettings(input_file=path), "encoder")
    assert [each.text_a for each in found] == ["the cat", "dog"]
    assert capsys.readouterr().err.endswith(note)
    decoder = files.LineDecoder()
    assert list(corpus_reading.texts(path, None, 0, None, decoder)) == [("the cat", ""), ("dog", "")]
    decoder.tell(path)
    assert capsys.readouterr().err.endswith(note)


def test_nothing_is_written_for_a_treebank_that_is_none(shifting, tmp_path):
    (tmp_path / "bank.conllu").write_text("1\ta\n")
    with pytest.raises(InputError, match=r"bank\.conllu:1: has 2 of the 10 columns"):
        analyze(shifting, tmp_path / "out", treebank=str(tmp_path / "bank.conllu"))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("content", [b"", b"x", b"PK\x05\x06" + bytes(18), b"PK\x03\x04cut"])
def test_sums_that_are_damaged(tmp_path, content):
    (tmp_path / STATE_FILE).write_bytes(content)
    with pytest.raises(InputError, match=rf"{STATE_FILE}: is damaged .*remove this one to begin anew"):
        Sums.read(str(tmp_path), 4)


def test_another_folder_is_left_alone(shifting, corpus, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match=r"is not empty, and has no analysis\.json to resume from"):
        analyze(shifting, tmp_path, input_file=str(corpus / "texts.txt"))
    assert corpus_results.HEADS_FILE not in {path.name for path in tmp_path.iterdir()}


@pytest.mark.parametrize(("words", "text", "pieces", "numbers"), [
    (["Do", "n't", "stop"], "Don't stop", ["don", "'", "t", "stop"], [0, 1, 1, 2]),
    (["Do", "n't", "stop"], None, ["do", "n", "'", "t", "stop"], [0, 1, 1, 1, 2]),
    (["Do", "n't", "stop"], "Do not stop", ["do", "n", "'", "t", "stop"], [0, 1, 1, 1, 2]),
    (["can", "not"], "cannot", ["can", "not"], [0, 1]),  # "cannot" is one token, in which "not" has none
    (["can", "\x01"], "can\x01", ["can", "[UNK]"], [0, 1]),
])
def test_sentences_are_read_as_they_were_written(tmp_path, words, text, pieces, numbers):
    (tmp_path / "vocab.txt").write_text("\n".join(
        ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "do", "don", "n", "t", "'", "stop", "can", "not", "cannot"]))
    tokenizer = BertTokenizer(str(tmp_path / "vocab.txt"))
    sentence = treebank.Sentence(words, ["X"] * len(words), [-1] * len(words), ["dep"] * len(words), text)

    (_, features, found, _), = corpus_reading.sentence_batches(tokenizer, [sentence], 16, 4)

    tokens = tokenizer.convert_ids_to_tokens(features["input_ids"]).numpy()[0]
    assert [token.decode() for token in tokens] == ["[CLS]", *pieces, "[SEP]"]
    assert found.numpy().tolist() == [[-1, *numbers, -1]]


def test_texts_of_a_treebank_are_read_as_they_were_written(tmp_path):
    (tmp_path / "bank.conllu").write_text("".join(
        f"{comment}1\tdo\t_\tX\t_\t_\t0\troot\t_\t_\n2\tn't\t_\tX\t_\t_\t1\tdep\t_\t_\n\n"
        for comment in ("# text = don't\n", "")))
    assert list(corpus_reading.texts(None, str(tmp_path / "bank.conllu"), 0, None)) == [("don't", ""), ("do n't", "")]
