"""Labels of treebanks in CoNLL-U."""

import pytest

from bert_tf.errors import InputError
from data_prep.tasks import conll, token_classifier, treebank


def row(number, form, head, relation="dep", tag="X"):
    return f"{number}\t{form}\t_\t{tag}\t_\t_\t{head}\t{relation}\t_\t_\n"


LABELED = ("# text = Don't stop\n1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\tA=1\n1\tDo\tdo\tAUX\tVB\tMood=Imp\t_\t_\t_\t_\n"
           "2\tn't\tnot\tPART\tRB\t_\t_\t_\t_\t_\n2.1\tyou\t_\t_\t_\t_\t_\t_\t3:nsubj\t_\n"
           "3\tstop\tstop\tVERB\tVB\tMood=Imp|VerbForm=Fin\t_\t_\t_\t_\n\n\n1\tJa\tja\tINTJ\tUH\t_\t_\t_\t_\t_\n")


@pytest.mark.parametrize(("column", "labels"), [
    ("upos", [["AUX", "PART", "VERB"], ["INTJ"]]), ("xpos", [["VB", "RB", "VB"], ["UH"]]),
    ("feats", [["Mood=Imp", "_", "Mood=Imp|VerbForm=Fin"], ["_"]])])
def test_labels_of_words(write, column, labels):
    """Multiword tokens and empty nodes have no labels, and heads can be unspecified."""
    sentences = treebank.read_labels(write("a.conllu", LABELED), column)
    assert (sentences.words, sentences.labels) == ([["Do", "n't", "stop"], ["Ja"]], labels)
    assert (sentences.lines, sentences.rows) == ([[3, 4, 6], [9]], LABELED.splitlines())


def test_predictions_replace_a_column(write, tmp_path):
    sentences = treebank.read_labels(write("a.conllu", LABELED.replace("VERB", "_")), "upos", has_labels=False)
    assert sentences.labels is None
    conll.write_predictions(tmp_path / "b.conllu", sentences, [["AUX", "PART", "VERB"], ["INTJ"]])
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
