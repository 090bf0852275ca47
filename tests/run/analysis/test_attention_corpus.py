"""run.analyze_attention: a model with known heads, importance, and the reading of treebanks."""

import csv
import dataclasses

import numpy as np
import pytest

from bert_tf import files
from bert_tf.cli.model_settings import ModelSettings, TokenizerSettings
from bert_tf.tokenization import BertTokenizer
from run.analysis import corpus, questions, reading
from run.analysis.observing import Observer
from run.analysis.settings import AttentionReportSettings
from run.analysis.syntax import Dependencies
from tests import remote_folders, scripts
from tests.settings import resolved

pytestmark = pytest.mark.large

WORDS = ["the", "cat", "dog", "sat", "unaffable", "on", "mat"]
OUTPUTS = {"analysis.npz", "heads.tsv", "measures.png", "relations.png", "relations.tsv"}


@pytest.fixture(scope="module")
def corpus_folder(tmp_path_factory):
    """Directory with texts and a treebank.

    The head of "right" is the previous word, and the head of "left" the next one.
    """
    folder = tmp_path_factory.mktemp("corpus")
    rng = np.random.default_rng(5)
    texts = [" ".join(rng.choice(WORDS, rng.integers(1, 8))) for _ in range(30)]
    (folder / "texts.txt").write_text("\n".join([*texts, "", "the cat ||| dog sat"]) + "\n")
    with (folder / "bank.conllu").open("w") as file:
        for _ in range(20):
            size = rng.integers(2, 6)
            for number in range(1, size + 1):
                head, name = get_relation(number, size)
                word = rng.choice(["the", "cat", "dog"])
                file.write(f"{number}\t{word}\t_\tX\t_\t_\t{head}\t{name}\t_\t_\n")
            file.write("\n")
    return folder


def get_relation(number, size):
    """Returns the head and the relation of a word of a sentence; numbers of words begin at 1."""
    if number == 1:
        return 0, "root"
    if number == 2:
        return 1, "right"
    if number < size:
        return number + 1, "left:<x>"
    return 0, "root"


def analyze(model, output_dir, **flags):
    scripts.run_here(
        "run.analyze_attention",
        init_checkpoint=model,
        output_dir=output_dir,
        max_seq_length=16,
        **flags,
    )


@pytest.fixture(scope="module")
def flags(corpus_folder):
    """Flags of an analysis of several groups."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpus, "NUM_SORTED_TEXTS", 8)
        yield {
            "input_file": corpus_folder / "texts.txt",
            "treebank": corpus_folder / "bank.conllu",
            "batch_size": 4,
        }


@pytest.fixture(scope="module")
def analysis(shifting, flags, tmp_path_factory):
    """Directory of an analysis."""
    folder = tmp_path_factory.mktemp("analysis")
    analyze(shifting, folder, **flags)
    return folder


def read_rows(path):
    with path.open() as file:
        return list(csv.DictReader(file, delimiter="\t"))


def test_heads_that_attend_to_neighboring_tokens_are_found(shifting, flags, analysis):
    assert {path.name for path in analysis.iterdir()} == OUTPUTS
    first, second = read_rows(analysis / "heads.tsv")
    assert float(first["previous"]) > 0.95 > 0.1 > float(first["next"])
    assert float(second["next"]) > 0.95 > 0.1 > float(second["previous"])
    # Only the first token of the one second text attends to the first.
    assert float(first["other_text"]) < 0.3
    found = {
        (row["relation"], row["direction"]): row for row in read_rows(analysis / "relations.tsv")
    }
    assert set(found) == {
        (name, direction)
        for name in ("all", "right", "left:<x>")
        for direction in ("dependent to head", "head to dependent")
    }
    for name, direction, head, offset in (
        ("right", "dependent to head", "0", "-1"),
        ("right", "head to dependent", "1", "-1"),
        ("left:<x>", "dependent to head", "1", "1"),
    ):
        row = found[name, direction]
        assert (row["head"], row["offset"]) == (head, offset)
        assert float(row["accuracy"]) > 0.95
        assert float(row["low"]) < float(row["accuracy"]) <= float(row["high"])
        assert float(row["held_out"]) == pytest.approx(float(row["accuracy"]))
        assert float(row["offset_accuracy"]) >= 0.5


def test_relations_are_printed_as_a_table(shifting, flags, tmp_path, capsys):
    """Texts are aligned on the left, and numbers on the right."""
    analyze(shifting, tmp_path / "analysis", treebank=flags["treebank"])
    header, *rows = [
        line
        for line in capsys.readouterr().out.splitlines()
        if "dependent" in line or "cases" in line
    ]
    assert header.startswith("relation  direction          cases  head  accuracy  held out")
    assert [row.split()[0] for row in rows] == ["all", "right", "left:<x>"]
    for row in rows:
        assert row[len("relation  ") :].startswith(("dependent to head  ", "head to dependent  "))
        cases = row[len("relation  dependent to head") :].split()[0]
        assert row.index(cases, 10) + len(cases) == header.index("cases") + len("cases")


@pytest.mark.extra_large
def test_a_remote_directory(shifting, flags, analysis):
    folder = f"{remote_folders.new_folder()}/out"
    analyze(shifting, folder, **flags)
    assert set(files.at(folder).names()) == OUTPUTS
    for name in ("heads.tsv", "relations.tsv"):
        assert files.read_bytes(f"{folder}/{name}") == (analysis / name).read_bytes(), name
    analyze(shifting, folder, input_file=flags["input_file"])
    assert set(files.at(folder).names()) == OUTPUTS - {"relations.tsv", "relations.png"}


def test_measures_are_the_means_of_the_reports_of_each_text(analysis, shifting, corpus_folder):
    settings = resolved(
        AttentionReportSettings(
            ModelSettings(init_checkpoint=str(shifting)),
            TokenizerSettings(max_seq_length=16),
            input_file=str(corpus_folder / "texts.txt"),
            output_file=str(corpus_folder / "report.html"),
        )
    )
    observer = Observer(settings)
    seen = [
        each
        for request in questions.read_questions(settings, "encoder")
        for each in observer(request)
    ]
    tokens = sum(len(each.pieces) for each in seen)
    expected = sum(each.measures[:, 0] * len(each.pieces) for each in seen) / tokens
    np.testing.assert_allclose(
        np.load(analysis / "analysis.npz")["measures"][:, 0], expected, rtol=1e-4
    )


@pytest.mark.extra_large
def test_importance(toys, corpus_folder, tmp_path, monkeypatch):
    """All orders start and end with the same score."""

    def apply_masks(encoder, heads):
        masks.extend(heads)
        return apply(encoder, heads=heads)

    def predict(*arguments):
        remaining.append(sum(mask.numpy().sum() for mask in masks))
        return call(*arguments)

    masks = []
    remaining = []
    apply = corpus.apply_masks
    call = corpus.Predictor.__call__
    monkeypatch.setattr(corpus, "apply_masks", apply_masks)
    monkeypatch.setattr(corpus.Predictor, "__call__", predict)
    monkeypatch.setattr(corpus, "CURVE_POINTS", 2)
    flags = {
        "input_file": corpus_folder / "texts.txt",
        "importance_examples": 8,
        "data_dir": toys / "sst-2",
    }
    analyze(toys / "sst", tmp_path, **flags)
    curve = read_rows(tmp_path / "curve.tsv")
    assert [row["heads_out"] for row in curve] == ["0", "3", "6"]
    assert curve[0]["importance"] == curve[0]["random_0"]
    assert curve[-1]["importance"] == curve[-1]["random_0"]
    assert remaining == [6, 3, 0] * 4
    values = {
        (row["layer"], row["head"]): float(row["importance"])
        for row in read_rows(tmp_path / "importance.tsv")
    }
    for layer in "012":
        assert np.hypot(values[layer, "0"], values[layer, "1"]) == pytest.approx(1, abs=1e-4)
    assert (tmp_path / "curve.png").exists()


def test_a_head_chosen_on_one_half_is_scored_on_the_other():
    dependencies = Dependencies(["a", "root"], 2)
    hits = np.zeros([2, 4, 2, 2], bool)
    # Head 0 is correct in even sentences, head 1 in odd ones and in one even one.
    hits[:, 0::2, 0] = True
    hits[:, 1::2, 1] = True
    hits[:, 0, 1] = True
    dependencies.add([0, 1, 2, 3], [["a", "root"]] * 4, np.array([[1, -1]] * 4), hits)
    first = dependencies.find_best([(0, 0), (0, 1)])[0]
    assert (first["relation"], first["cases"], first["layer"], first["head"]) == ("all", 4, 0, 1)
    assert first["accuracy"] == 0.75
    # Head 1 on even ones: 1 of 2. Head 0 on odd ones: 0 of 2.
    assert first["held_out"] == pytest.approx(1 / 4)
    assert (first["offset"], first["offset_accuracy"]) == (1, 1.0)
    # Wilson's interval for 4 of 4.
    assert first["offset_low"] == pytest.approx(4 / (4 + 1.96**2), abs=1e-3)


@dataclasses.dataclass(frozen=True)
class Written:
    """A sentence, and its tokens.

    Attributes:
      words: List of str. Words of the treebank.
      text: str. The sentence as it was written, or None.
      tokens: List of str. Tokens of the sentence.
      numbers: List of int. Number of the word of each token.
    """

    words: list
    text: str | None
    tokens: list
    numbers: list


@pytest.mark.parametrize(
    "case",
    [
        Written(
            words=["Do", "n't", "stop"],
            text="Don't stop",
            tokens=["don", "'", "t", "stop"],
            numbers=[0, 1, 1, 2],
        ),
        Written(
            words=["Do", "n't", "stop"],
            text=None,
            tokens=["do", "n", "'", "t", "stop"],
            numbers=[0, 1, 1, 1, 2],
        ),
        Written(
            words=["Do", "n't", "stop"],
            text="Do not stop",
            tokens=["do", "n", "'", "t", "stop"],
            numbers=[0, 1, 1, 1, 2],
        ),
        # "cannot" is one token, in which "not" has none.
        Written(words=["can", "not"], text="cannot", tokens=["can", "not"], numbers=[0, 1]),
        Written(words=["can", "\x01"], text="can\x01", tokens=["can", "[UNK]"], numbers=[0, 1]),
    ],
)
def test_sentences_are_tokenized_as_they_were_written(tmp_path, case):
    (tmp_path / "vocab.txt").write_text(
        "\n".join(
            [
                "[PAD]",
                "[UNK]",
                "[CLS]",
                "[SEP]",
                "[MASK]",
                "do",
                "don",
                "n",
                "t",
                "'",
                "stop",
                "can",
                "not",
                "cannot",
            ]
        )
    )
    tokenizer = BertTokenizer(str(tmp_path / "vocab.txt"))
    sentence = reading.Sentence(
        case.words,
        ["X"] * len(case.words),
        [-1] * len(case.words),
        ["dep"] * len(case.words),
        case.text,
    )
    ((_, features, found, _),) = reading.sentence_batches(tokenizer, [sentence], 16, 4)
    found_tokens = tokenizer.convert_ids_to_tokens(features["input_ids"]).numpy()[0]
    assert [token.decode() for token in found_tokens] == ["[CLS]", *case.tokens, "[SEP]"]
    assert found.numpy().tolist() == [[-1, *case.numbers, -1]]


def test_texts_of_a_treebank_are_those_of_its_comments(tmp_path):
    (tmp_path / "bank.conllu").write_text(
        "".join(
            f"{comment}1\tdo\t_\tX\t_\t_\t0\troot\t_\t_\n2\tn't\t_\tX\t_\t_\t1\tdep\t_\t_\n\n"
            for comment in ("# text = don't\n", "")
        )
    )
    found = reading.read_corpus(None, str(tmp_path / "bank.conllu"))
    assert list(found) == [("don't", ""), ("do n't", "")]
