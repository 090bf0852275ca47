"""Files with a label per word: columns and treebanks, entity schemes, and predictions."""

import pytest

from data_prep.datasets import conll, tag_schemes
from tests.errors import Message, raises_message

IOB2 = ["B-PER", "I-PER", "B-PER", "O", "B-LOC", "I-LOC", "I-LOC", "O", "B-ORG", "B-LOC"]
IOB1 = ["I-PER", "I-PER", "B-PER", "O", "I-LOC", "I-LOC", "I-LOC", "O", "I-ORG", "I-LOC"]
IOBES = ["B-PER", "E-PER", "S-PER", "O", "B-LOC", "I-LOC", "E-LOC", "O", "S-ORG", "S-LOC"]


def test_conll_2003(write):
    path = write(
        "words.txt",
        "-DOCSTART- -X- O O\n\nAnna NNP I-NP I-PER\nlives  VBZ I-VP O \n\n\n"
        "-DOCSTART- -X- O O\n\nRome NNP I-NP I-LOC\r\nAnna NNP I-NP I-PER\n. . O O",
    )
    sentences = conll.read_sentences(path, label_column=-1)
    assert sentences.words == [["Anna", "lives"], ["Rome", "Anna", "."]]
    assert sentences.labels == [["B-PER", "O"], ["B-LOC", "B-PER", "O"]]
    assert sentences.lines == [[3, 4], [9, 10, 11]]
    assert sentences.rows[8:] == ["Rome NNP I-NP I-LOC", "Anna NNP I-NP I-PER", ". . O O"]
    assert (len(sentences), sentences.num_words) == (2, 5)
    assert conll.find_label_names(sentences) == ("O", "B-LOC", "I-LOC", "B-PER", "I-PER")
    assert conll.read_sentences(path, label_column=2).labels[0] == ["B-NP", "B-VP"]
    parts_of_speech = conll.read_sentences(path, label_column=1)
    assert parts_of_speech.labels == [["NNP", "VBZ"], ["NNP", "NNP", "."]]
    assert conll.find_label_names(parts_of_speech) == (".", "NNP", "VBZ")
    assert not conll.are_entity_labels(("NNP", "O"))
    assert conll.read_sentences(path).labels is None


def test_tabs_and_invalid_bytes(write):
    sentences = conll.read_sentences(
        write("words.txt", "\ufeffO\t1\tAn na\nB-PER\t2\t\xa0\n \nO\t\ti\u2028n"), 2, 0
    )
    assert sentences.words == [["An na", "\xa0"], ["i\u2028n"]]
    assert sentences.labels == [["O", "B-PER"], ["O"]]
    latin = conll.read_sentences(write("latin.txt", b"a O\ncaf\xe9 O\n"))
    assert (latin.words, latin.num_garbled) == ([["a", "caf"]], 1)


def test_spaces_around_a_label_are_not_part_of_it(write):
    sentences = conll.read_sentences(write("words.txt", "a \tB-X \nb\tI-X\nc\tO \n"), 0, 1)
    assert (sentences.words, sentences.labels) == ([["a ", "b", "c"]], [["B-X", "I-X", "O"]])


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (IOB1, IOB2),
        (IOB2, IOB2),
        (IOBES, IOB2),
        # Invalid in all schemes.
        (["E-PER", "I-LOC", "O", "I-LOC", "E-PER"], ["B-PER", "B-LOC", "O", "B-LOC", "B-PER"]),
    ],
)
def test_conversion_to_iob2(labels, expected):
    assert tag_schemes.to_iob2(labels) == expected


@pytest.mark.parametrize(
    ("text", "columns", "message"),
    [
        ("a O\nb X O\n", (0, -1), Message("words.txt:2", "has 3 columns", "line 1 has 2")),
        (
            "a O\n",
            (0, 2),
            Message(
                "words.txt:1",
                "column 2 does not exist",
                "the row has 2 columns",
                "0 to 1",
                "-2 to -1",
            ),
        ),
        ("a\tO\nb\t\n", (0, 1), Message("words.txt:2", "column 1 is empty")),
        ("a\nb\n", (0, -1), Message("words.txt:1", "of 1 columns", "0 and -1 are the same")),
        (
            "a B-X\nb X\n",
            (0, 1),
            Message("words.txt:2", "label 'X'", "must be O", "entity type with the prefix B-"),
        ),
        ("-DOCSTART- O\n\n", (0, 1), Message("words.txt", "contains no words")),
        (
            "a O\nb O\n",
            (0, 1),
            Message("words.txt", "all words have the label 'O'", "check the label column"),
        ),
    ],
)
def test_invalid_files(write, text, columns, message):
    with raises_message(message):
        conll.find_label_names(conll.read_sentences(write("words.txt", text), *columns))


def test_predictions_are_an_additional_column(write, tmp_path):
    text = "-DOCSTART- -X- O\n\nAnna  NNP I-PER\n\n\nin\tIN\tO\nRome\tNNP\tI-LOC"
    sentences = conll.read_sentences(write("words.txt", text), label_column=-1)
    conll.write_tags(str(tmp_path / "out"), sentences, [["B-PER"], ["O", "B-LOC"]])
    assert (tmp_path / "out").read_text() == (
        "-DOCSTART- -X- O O\n\nAnna  NNP I-PER B-PER\n\n\nin\tIN\tO\tO\nRome\tNNP\tI-LOC\tB-LOC\n"
    )


def word(number, tag):
    """The row of a word of a treebank."""
    return f"{number}\ta\t_\t{tag}" + 6 * "\t_" + "\n"


LABELED = (
    "# text = Don't "
    "stop\n1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\tA=1\n1\tDo\tdo\tAUX\tVB\tMood=Imp\t_\t_\t_\t_\n"
    "2\tn't\tnot\tPART\tRB\t_\t_\t_\t_\t_\n2.1\tyou\t_\t_\t_\t_\t_\t_\t3:nsubj\t_\n"
    "3\tstop\tstop\tVERB\tVB\tMood=Imp|VerbForm=Fin\t_\t_\t_\t_\n\n\n1\tJa\tja\tINTJ\tUH\t_\t_\t_\t_\t_\n"
)


@pytest.mark.parametrize(
    ("column", "labels"),
    [
        ("upos", [["AUX", "PART", "VERB"], ["INTJ"]]),
        ("xpos", [["VB", "RB", "VB"], ["UH"]]),
        ("feats", [["Mood=Imp", "_", "Mood=Imp|VerbForm=Fin"], ["_"]]),
        (None, None),
    ],
)
def test_labels_of_words(write, column, labels):
    """Multiword tokens and empty nodes have no labels, and heads can be unspecified."""
    sentences = conll.read_sentences(write("a.conllu", LABELED), label_column=column)
    assert (sentences.words, sentences.labels) == ([["Do", "n't", "stop"], ["Ja"]], labels)
    assert (sentences.lines, sentences.rows) == ([[3, 4, 6], [9]], LABELED.splitlines())


def test_predictions_replace_a_column(write, tmp_path):
    sentences = conll.read_sentences(write("a.conllu", LABELED.replace("VERB", "_")))
    conll.write_tags(tmp_path / "b.conllu", sentences, [["AUX", "PART", "VERB"], ["INTJ"]], "upos")
    assert (tmp_path / "b.conllu").read_text() == LABELED


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\ta\n", Message("a.conllu:1", "has 2 columns separated by tabs", "CoNLL-U requires 10")),
        (word(2, "X"), Message("a.conllu:1", "ID 2", "must be 1")),
        (word("1" * 5000, "X"), Message("a.conllu:1", "ID 111", "must be 1")),
        (word("x", "X"), Message("a.conllu:1", "ID x", "must be 1")),
        ("", Message("a.conllu", "contains no sentences")),
    ],
)
def test_invalid_labels(write, text, message):
    with raises_message(message):
        conll.read_sentences(write("a.conllu", text), label_column="upos")
