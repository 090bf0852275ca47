"""Runs of learn_vocab."""

import gzip

import pytest

from bert_tf.cli.model_settings import CasingSettings
from bert_tf.tokenization.plain import PlainTokenizer
from data_prep.vocabulary import VocabularySettings, job
from tests.errors import Message, raises_message, rejects
from tests.settings import resolved


def test_a_vocabulary_is_learned_and_then_extended(tmp_path, write, capsys):
    text = "the quick brown fox jumps over the lazy dog and the quick red fox\n" * 4
    write("corpus/a.txt.gz", gzip.compress(text.encode()))
    first = tmp_path / "vocab.txt"
    extended = tmp_path / "extended.txt"
    job.run(
        resolved(
            VocabularySettings(f"{tmp_path}/corpus", str(first), vocab_size=162, num_unused=99)
        )
    )
    assert "162 entries; 56 words, 10 distinct; " in capsys.readouterr().out
    entries = first.read_text().splitlines()
    assert (len(entries), entries[100]) == (162, "[UNK]")

    domain = write("domain.txt", "qubit qubit qubit fermion fermion")
    job.run(resolved(VocabularySettings(domain, str(extended), initial_vocab=str(first))))
    added = extended.read_text().splitlines()
    assert sorted(set(added) - set(entries)) == ["fermion", "qubit"]
    assert added[100:] == entries[100:]
    # The same again.
    job.run(resolved(VocabularySettings(domain, str(extended), initial_vocab=str(first))))
    with rejects("vocab_file", "is another vocabulary", "records and models may use"):
        job.run(
            resolved(
                VocabularySettings(domain, str(extended), initial_vocab=str(first), min_count=3)
            )
        )
    assert extended.read_text().splitlines() == added


@pytest.mark.parametrize(
    ("strip_accents", "added"), [(None, ["madchen", "große"]), (False, ["mädchen", "große"])]
)
def test_words_of_a_lowercase_vocabulary_that_keeps_accents(tmp_path, write, strip_accents, added):
    text = write("text.txt", "Mädchen mädchen MÄDCHEN Große große")
    initial = write("initial.txt", "[PAD]\n[unused0]\n[unused1]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n")
    job.run(
        resolved(
            VocabularySettings(
                text,
                str(tmp_path / "v"),
                initial_vocab=initial,
                casing=CasingSettings(strip_accents=strip_accents),
            )
        )
    )
    entries = (tmp_path / "v").read_text().splitlines()
    assert entries[1:3] == added
    tokenizer = PlainTokenizer(entries, True, strip_accents)
    assert tokenizer.ids("Mädchen große") == [1, 2]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"input_file": "t.txt", "vocab_file": "t.txt"},
            Message("vocab_file", "would be read", "next run", value="t.txt"),
        ),
        ({"input_file": "empty.txt", "vocab_file": "v"}, Message(None, "contains no words")),
        (
            {
                "input_file": "t.txt",
                "vocab_file": "v",
                "initial_vocab": "vocab.txt",
                "vocab_size": 7,
            },
            Message("vocab_size", "must be 6", "size of `initial_vocab`", value=7),
        ),
        (
            {"input_file": "t.txt", "vocab_file": "v", "initial_vocab": ""},
            Message(
                "initial_vocab", "is empty", "set the path of a vocabulary", "omit it", value=""
            ),
        ),
    ],
)
def test_invalid_settings(tmp_path, write, monkeypatch, settings, message):
    monkeypatch.chdir(tmp_path)
    write("t.txt", "some words")
    write("empty.txt", "\n \n")
    write("vocab.txt", "[PAD]\n[unused0]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n")
    with raises_message(message):
        job.run(resolved(VocabularySettings(**settings)))
    assert not (tmp_path / "v").exists()
