"""Treebanks: reads the tree, and finds the words in the text."""

import pytest

from run.analysis import reading
from tests.errors import Message, check_message, raises_message


def row(number, form, head, relation="dep", tag="X"):
    return f"{number}\t{form}\t_\t{tag}\t_\t_\t{head}\t{relation}\t_\t_\n"


TEXT = (
    "# text = Don't stop\n"
    + row("1-2", "Don't", "_", "_", "_")
    + row(1, "Do", 3, "aux", "AUX")
    + row(2, "n't", 3, "advmod", "PART")
    + row("2.1", "you", "_", "_")
    + row(3, "stop", 0, "root", "VERB")
    + "\n\n"
    + "# nothing\n\n"
    + row(1, "Ja", 0, "root")
)


def test_sentences(tmp_path, capsys):
    """A byte order mark and invalid UTF-8 bytes, whose lines are counted, change nothing."""
    (tmp_path / "a.conllu").write_bytes(b"\xef\xbb\xbf" + TEXT.encode().replace(b"Ja", b"J\xe9a"))
    first, second = reading.read_parsed_sentences(str(tmp_path / "a.conllu"))
    assert first == reading.Sentence(
        ["Do", "n't", "stop"],
        ["AUX", "PART", "VERB"],
        [2, 2, reading.ROOT],
        ["aux", "advmod", "root"],
        "Don't stop",
    )
    assert (second.words, second.text) == (["Ja"], None)
    check_message(capsys.readouterr().err, None, "a.conllu", "1 line contains bytes", "not UTF-8")


@pytest.mark.parametrize(
    ("text", "starts"),
    [
        ("Don't stop", [0, 2, 6]),
        ("  Do n't\u00a0stop ", [2, 5, 9]),
        ("Don't", None),
        ("Don't stop it", None),
        ("don't stop", None),
        (None, None),
    ],
)
def test_alignment_of_words_with_the_text(text, starts):
    sentence = reading.Sentence(
        ["Do", "n't", "stop"], ["X"] * 3, [2, 2, reading.ROOT], ["dep"] * 3, text
    )
    assert sentence.align() == starts


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# c\n" + row(1, "a", 2), Message("a.conllu:2", "HEAD '2'", "must be a number", "0 to 1")),
        (row(1, "a", "_"), Message("a.conllu:1", "HEAD '_'")),
        ("# none\n", Message("a.conllu", "contains no sentences")),
    ],
)
def test_invalid_trees(tmp_path, text, message):
    (tmp_path / "a.conllu").write_text(text)
    with raises_message(message):
        list(reading.read_parsed_sentences(str(tmp_path / "a.conllu")))
