"""The syntax of treebanks in CoNLL-U: reads the tree, and skips multiword tokens and empty nodes."""

import pytest

from bert_tf import files
from bert_tf.errors import InputError
from run.analysis import trees


@pytest.fixture
def write(tmp_path):
    """Function that writes a file of `tmp_path` and returns its path, a str."""
    def write(name, content):
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(tmp_path / name)
    return write


def row(number, form, head, relation="dep", tag="X"):
    return f"{number}\t{form}\t_\t{tag}\t_\t_\t{head}\t{relation}\t_\t_\n"


TEXT = ("# text = Don't stop\n" + row("1-2", "Don't", "_", "_", "_") + row(1, "Do", 3, "aux", "AUX")
        + row(2, "n't", 3, "advmod", "PART") + row("2.1", "you", "_", "_") + row(3, "stop", 0, "root", "VERB") + "\n\n"
        + "# nothing\n\n" + row(1, "Ja", 0, "root"))


def test_sentences(write):
    """A byte order mark and invalid UTF-8 bytes, whose lines are counted, change nothing."""
    first, second = trees.read_sentences(write("a.conllu", TEXT))
    assert first == trees.Sentence(["Do", "n't", "stop"], ["AUX", "PART", "VERB"], [2, 2, trees.ROOT],
                                      ["aux", "advmod", "root"], "Don't stop")
    assert (second.words, second.text) == (["Ja"], None)
    decoder = files.LineDecoder()
    path = write("b.conllu", b"\xef\xbb\xbf" + TEXT.encode().replace(b"Ja", b"J\xe9a"))
    assert list(trees.read_sentences(path, decoder)) == [first, second]
    assert decoder.num_garbled == 1


@pytest.mark.parametrize(("text", "starts"), [
    ("Don't stop", [0, 2, 6]), ("  Do n't\u00a0stop ", [2, 5, 9]), ("Don't", None), ("Don't stop it", None),
    ("don't stop", None), (None, None)])
def test_alignment_of_words_with_the_text(text, starts):
    sentence = trees.Sentence(["Do", "n't", "stop"], ["X"] * 3, [2, 2, trees.ROOT], ["dep"] * 3, text)
    assert sentence.align() == starts


@pytest.mark.parametrize(("text", "message"), [
    ("1\ta\n", "a.conllu:1: has 2 columns separated by tabs, but CoNLL-U requires 10"),
    (row(2, "a", 0), "a.conllu:1: ID 2: must be 1"),
    (row("x", "a", 0), "a.conllu:1: ID 'x': must be an integer"),
    ("# c\n" + row(1, "a", 2), "a.conllu:2: HEAD '2': must be a number from 0 to 1"),
    (row(1, "a", "_"), "a.conllu:1: HEAD '_'"),
    ("# none\n", "a.conllu: contains no sentences"),
])
def test_invalid_files(write, text, message):
    with pytest.raises(InputError, match=message):
        list(trees.read_sentences(write("a.conllu", text)))
