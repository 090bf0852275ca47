"""The script learn_vocab: a vocabulary learned and extended, the same in any process, and its one-line errors."""

import gzip

from tests import scripts

NAME = "data_prep.learn_vocab"


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_the_same_counts_give_the_same_vocabulary_in_another_process(tmp_path):
    """The learner's hash tables are seeded anew in each process, and ties are many here."""
    words = [first + middle + last for first in "abcdefgh" for middle in "ijklmnop" for last in "qrstuvwx"]
    path = write(tmp_path / "text.txt", " ".join(words * 2))
    outputs = []
    for attempt in ("1", "2", "3"):
        output = tmp_path / f"vocab{attempt}.txt"
        scripts.succeed(NAME, input_file=path, vocab_file=output, vocab_size=360)
        outputs.append(output.read_bytes())
    assert outputs[0] == outputs[1] == outputs[2]


def test_the_script_learns_and_then_adds(tmp_path):
    text = "the quick brown fox jumps over the lazy dog and the quick red fox\n" * 4
    (tmp_path / "corpus.txt.gz").write_bytes(gzip.compress(text.encode()))
    vocab_file, extended = tmp_path / "vocab.txt", tmp_path / "extended.txt"
    first = scripts.succeed(NAME, input_file=f"{tmp_path}/*.gz", vocab_file=vocab_file, vocab_size=162, num_unused=99)
    assert "162 entries; 56 words, 10 distinct; " in first
    entries = vocab_file.read_text().splitlines()
    assert len(entries) == 162
    assert entries[100] == "[UNK]"

    domain = write(tmp_path / "domain.txt", "qubit qubit qubit fermion fermion")
    scripts.succeed(NAME, input_file=domain, vocab_file=extended, initial_vocab=vocab_file)
    added = extended.read_text().splitlines()
    assert sorted(set(added) - set(entries)) == ["fermion", "qubit"]
    assert added[100:] == entries[100:]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus.txt.gz", "domain.txt", "extended.txt",
                                                                 "vocab.txt"]


def test_a_mistake_ends_with_one_line_and_status_1(tmp_path):
    path = write(tmp_path / "t.txt", "some words")
    assert scripts.fail(NAME, input_file=path) == "learn_vocab.py: --vocab_file is required"
    error = scripts.last_error(NAME, input_file=path, vocab_file=tmp_path / "v", vocab_size=200, min_count=1)
    # 104 special entries, 7 characters and the same as continuations, 3 merges for "some" and 4 for "words"
    assert error == ("learn_vocab.py: --vocab_size=200: the text gives only 125 entries with --min_count=1; lower "
                     "either, or add text")
    assert not (tmp_path / "v").exists()
