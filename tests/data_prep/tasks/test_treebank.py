"""Treebanks in CoNLL-U: reads the tree, and skips multiword tokens and empty nodes."""

import pytest

from bert_tf import files
from bert_tf.errors import InputError
from data_prep.tasks import token_classifier, treebank


def row(number, form, head, relation="dep", tag="X"):
    return f"{number}\t{form}\t_\t{tag}\t_\t_\t{head}\t{relation}\t_\t_\n"


TEXT = ("# text = Don't stop\n" + row("1-2", "Don't", "_", "_", "_") + row(1, "Do", 3, "aux", "AUX")
        + row(2, "n't", 3, "advmod", "PART") + row("2.1", "you", "_", "_") + row(3, "stop", 0, "root", "VERB") + "\n\n"
        + "# nothing\n\n" + row(1, "Ja", 0, "root"))


def test_sentences(write):
    """A byte order mark and invalid UTF-8 bytes, whose lines are counted, change nothing."""
    first, second = treebank.read_sentences(write("a.conllu", TEXT))
    assert first == treebank.Sentence(["Do", "n't", "stop"], ["AUX", "PART", "VERB"], [2, 2, treebank.ROOT],
                                      ["aux", "advmod", "root"], "Don't stop")
    assert (second.words, second.text) == (["Ja"], None)
    decoder = files.LineDecoder()
    path = write("b.conllu", b"\xef\xbb\xbf" + TEXT.encode().replace(b"Ja", b"J\xe9a"))
    assert list(treebank.read_sentences(path, decoder)) == [first, second]
    assert decoder.num_garbled == 1


@pytest.mark.parametrize(("text", "starts"), [
    ("Don't stop", [0, 2, 6]), ("  Do n't\u00a0stop ", [2, 5, 9]), ("Don't", None), ("Don't stop it", None),
    ("don't stop", None), (None, None)])
def test_alignment_of_words_with_the_text(text, starts):
    sentence = treebank.Sentence(["Do", "n't", "stop"], ["X"] * 3, [2, 2, treebank.ROOT], ["dep"] * 3, text)
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
        list(treebank.read_sentences(write("a.conllu", text)))


LABELED = ("# text = Don't stop\n1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\tA=1\n1\tDo\tdo\tAUX\tVB\tMood=Imp\t_\t_\t_\t_\n"
           "2\tn't\tnot\tPART\tRB\t_\t_\t_\t_\t_\n2.1\tyou\t_\t_\t_\t_\t_\t_\t3:nsubj\t_\n"
           "3\tstop\tstop\tVERB\tVB\tMood=Imp|VerbForm=Fin\t_\t_\t_\t_\n\n\n1\tJa\tja\tINTJ\tUH\t_\t_\t_\t_\t_\n")


@pytest.mark.parametrize(("column", "labels"), [
    ("upos", [["AUX", "PART", "VERB"], ["INTJ"]]), ("xpos", [["VB", "RB", "VB"], ["UH"]]),
    ("feats", [["Mood=Imp", "_", "Mood=Imp|VerbForm=Fin"], ["_"]]), (None, None)])
def test_labels_of_words(write, column, labels):
    """Multiword tokens and empty nodes have no labels, and heads can be unspecified."""
    sentences = treebank.read_labels(write("a.conllu", LABELED), column)
    assert (sentences.words, sentences.labels) == ([["Do", "n't", "stop"], ["Ja"]], labels)
    assert (sentences.lines, sentences.rows) == ([[3, 4, 6], [9]], LABELED.splitlines())


def test_predictions_replace_a_column(write, tmp_path):
    sentences = treebank.read_labels(write("a.conllu", LABELED.replace("VERB", "_")), None)
    treebank.write_predictions(tmp_path / "b.conllu", sentences, [["AUX", "PART", "VERB"], ["INTJ"]], "upos")
    assert (tmp_path / "b.conllu").read_text() == LABELED


@pytest.mark.parametrize(("text", "message"), [
    (row(1, "a", 0, tag=""), r"a\.conllu:1: UPOS is empty; CoNLL-U marks an unspecified value with _$"),
    (row(1, "a", 0, tag="_"), r"a\.conllu: UPOS is unspecified \(_\) for all words; set `treebank_column` to another"),
    ("1\ta\n", "a.conllu:1: has 2 columns"), (row(2, "a", 0), "a.conllu:1: ID 2: must be 1"),
    (row("1" * 5000, "a", 0), "a.conllu:1: ID 1+: must be 1"),
    ("", "a.conllu: contains no sentences")])
def test_invalid_labels(write, text, message):
    with pytest.raises(InputError, match=message):
        treebank.read_labels(write("a.conllu", text), "upos")


@pytest.mark.parametrize(("settings", "message"), [
    ({"train_file": "a.conllu"},
     "`treebank_column` is required for the treebank `train_file`=a.conllu; set upos, xpos, or feats"),
    ({"train_file": "a.txt", "treebank_column": "upos"},
     "`treebank_column`=upos: requires treebanks, but `train_file`=a.txt does not end in .conllu"),
    ({"train_file": "a.txt", "test_file": "b.conllu", "treebank_column": "xpos"},
     "`train_file`=a.txt: has another format than `test_file`=b.conllu; all files must end in .conllu, or none"),
    ({"dev_file": "a.conllu", "treebank_column": "feats", "label_column": 3},
     "`label_column`=3: does not apply to the treebank `dev_file`=a.conllu"),
    ({"dev_file": "a.conllu", "treebank_column": "feats", "token_column": 1},
     "`token_column`=1: does not apply to the treebank `dev_file`=a.conllu"),
    ({"dev_file": "a.conllu", "treebank_column": "upos", "document_context": True},
     "`document_context`=True: does not apply to the treebank `dev_file`=a.conllu"),
    ({"treebank_column": "deprel"}, "`treebank_column`=deprel: must be one of upos, xpos, feats")])
def test_settings_of_treebanks(settings, message):
    with pytest.raises(InputError) as error:
        token_classifier.Settings(**settings)
    assert str(error.value) == message
