"""Files of tagged words, the three schemes of entities, and features by hand."""

import itertools

import numpy as np
import pytest

from bert_tf.tokenization import BertTokenizer
from data_prep.tasks import conll

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "anna", "lives", "in", "rome", "##s", "##t", "."]
CLS, SEP, UNK = 2, 3, 1

IOB2 = ["B-PER", "I-PER", "B-PER", "O", "B-LOC", "I-LOC", "I-LOC", "O", "B-ORG", "B-LOC"]
IOB1 = ["I-PER", "I-PER", "B-PER", "O", "I-LOC", "I-LOC", "I-LOC", "O", "I-ORG", "I-LOC"]
IOBES = ["B-PER", "E-PER", "S-PER", "O", "B-LOC", "I-LOC", "E-LOC", "O", "S-ORG", "S-LOC"]


@pytest.fixture
def tokenizer(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_text("".join(f"{piece}\n" for piece in PIECES))
    return BertTokenizer(str(path))


@pytest.fixture
def write(tmp_path):
    def write(text, name="words.txt"):
        (tmp_path / name).write_bytes(text.encode())
        return str(tmp_path / name)
    return write


def sentences_of(*sentences, labels=None):
    lines = [[10 * number + place for place in range(len(words))] for number, words in enumerate(sentences)]
    return conll.Sentences("file", [], lines, list(sentences), labels)


def test_conll_2003(write):
    path = write("-DOCSTART- -X- O O\n\nAnna NNP I-NP I-PER\nlives  VBZ I-VP O \n\n\n"
                 "-DOCSTART- -X- O O\n\nRome NNP I-NP I-LOC\r\nAnna NNP I-NP I-PER\n. . O O")
    sentences = conll.read_sentences(path, label_column=-1)
    assert sentences.words == [["Anna", "lives"], ["Rome", "Anna", "."]]
    assert sentences.labels == [["B-PER", "O"], ["B-LOC", "B-PER", "O"]]
    assert sentences.lines == [[3, 4], [9, 10, 11]]
    assert sentences.rows[8:] == ["Rome NNP I-NP I-LOC", "Anna NNP I-NP I-PER", ". . O O"]
    assert (len(sentences), sentences.num_words) == (2, 5)
    assert conll.label_names(sentences) == ("O", "B-LOC", "I-LOC", "B-PER", "I-PER")
    assert conll.read_sentences(path, label_column=2).labels[0] == ["B-NP", "B-VP"]
    parts_of_speech = conll.read_sentences(path, label_column=1)
    assert parts_of_speech.labels == [["NNP", "VBZ"], ["NNP", "NNP", "."]]
    assert conll.label_names(parts_of_speech) == (".", "NNP", "VBZ")
    assert not conll.are_entity_labels(("NNP", "O"))


def test_documents_are_windows_in_which_each_word_counts_once(write, tokenizer):
    """Ten pieces in windows of six: 0 to 5, 3 to 7, since the last word has two, and 4 to 9; and a document in one.

    Sentences follow one another without a mark. The second "in" has one piece to its right in the second window, and
    two to its left in the third.
    """
    path = write("-DOCSTART- O\n\nanna B-PER\nromes B-LOC\n\nin O\nrome B-LOC\n. O\n\nin O\nlives O\nannas B-PER\n\n"
                 "-DOCSTART- O\n. O\n\nin O\n")
    sentences = conll.read_sentences(path, label_column=1)
    assert sentences.documents == [1, 1, 1, 2, 2]
    names = conll.label_names(sentences)  # O, B-LOC, I-LOC, B-PER, I-PER
    features, num_cut = conll.convert_sentences_to_features(sentences, names, tokenizer, 8, document_context=True)
    anna, lives, inside, rome, s, stop, no = 5, 6, 7, 8, 9, 11, conll.IGNORED
    assert features["input_ids"].tolist() == [
        [CLS, anna, rome, s, inside, rome, stop, SEP], [CLS, inside, rome, stop, inside, lives, SEP, 0],
        [CLS, rome, stop, inside, lives, anna, s, SEP], [CLS, stop, inside, SEP, 0, 0, 0, 0]]
    assert features["label_ids"].tolist() == [
        [no, 3, 1, no, 0, 1, no, no], [no, no, no, 0, no, no, no, no],
        [no, no, no, 0, 0, 3, no, no], [no, 0, 0, no, no, no, no, no]]
    assert conll.of_words(features["label_ids"], features["label_ids"]).tolist() == [3, 1, 0, 1, 0, 0, 0, 3, 0, 0]
    assert num_cut == 0
    with pytest.raises(ValueError, match=r"^`document_context`: .*words\.txt has no row that begins with -DOCST"):
        conll.convert_sentences_to_features(
            conll.read_sentences(write("anna B-PER\nin O"), label_column=1), names, tokenizer, 8,
            document_context=True)


def test_tabs_other_columns_and_words_with_odd_spaces(write):
    sentences = conll.read_sentences(write("\ufeffO\t1\tAn na\nB-PER\t2\t\xa0\n \nO\t\ti\u2028n"), 2, 0)
    assert sentences.words == [["An na", "\xa0"], ["i\u2028n"]]
    assert sentences.labels == [["O", "B-PER"], ["O"]]


def test_without_labels(write):
    sentences = conll.read_sentences(write("Anna\nlives\n"))
    assert (sentences.words, sentences.labels) == ([["Anna", "lives"]], None)


@pytest.mark.parametrize("labels", [IOB1, IOB2, IOBES])
def test_three_schemes_are_one(labels):
    assert conll.to_iob2(labels) == IOB2


def test_sequences_of_no_scheme_become_valid():
    assert conll.to_iob2(["E-PER", "I-LOC", "O", "I-LOC", "E-PER"]) == ["B-PER", "B-LOC", "O", "B-LOC", "B-PER"]


@pytest.mark.parametrize(("text", "columns", "message"), [
    ("a O\nb X O\n", (0, -1), r"words\.txt:2: 2 columns are expected, as in line 1, 3 found"),
    ("a O\n", (0, 2), r"words\.txt:1: there is no column 2: the row has 2, 0 to 1, or from the last -1 to -2"),
    ("a\tO\nb\t\n", (0, 1), r"words\.txt:2: column 1 is empty"),
    ("a\nb\n", (0, -1), r"words\.txt:1: column 0 is -1 too, of 1: a word and a label are expected"),
    ("a B-X\nb X\n", (0, 1), r"words\.txt:2: label 'X': O, or B-, I-, E- or S- before the type of an entity is"),
    ("a B-X\nb U-X\n", (0, 1), r"words\.txt:2: label 'U-X': O, or B-"),
    ("-DOCSTART- O\n\n", (0, 1), r"words\.txt: has no words"),
])
def test_bad_rows_are_named(write, text, columns, message):
    with pytest.raises(ValueError, match=message):
        conll.read_sentences(write(text), *columns)


def test_bad_files_are_named(write, tmp_path):
    with pytest.raises(ValueError, match=r"none\.txt: no such file"):
        conll.read_sentences(str(tmp_path / "none.txt"))
    (tmp_path / "latin.txt").write_bytes(b"a O\ncaf\xe9 O\n")
    latin = conll.read_sentences(str(tmp_path / "latin.txt"))
    assert (latin.words, latin.num_garbled) == ([["a", "caf"]], 1)  # the byte is dropped
    with pytest.raises(ValueError, match=r"words\.txt: all words have the label 'O': is another column meant\?"):
        conll.label_names(conll.read_sentences(write("a O\nb O\n"), 0, 1))


def test_features_by_hand(tokenizer):
    """The first piece has the label; a control character is [UNK]; a sentence is divided between words."""
    names = ("O", "B-LOC", "I-LOC")
    sentences = sentences_of(["Anna", "\x01", "Romes"], ["in", "Romest", "lives", "romes", "."],
                             labels=[["O", "O", "B-LOC"], ["O", "B-LOC", "I-LOC", "B-LOC", "O"]])
    features, num_cut = conll.convert_sentences_to_features(sentences, names, tokenizer, max_seq_length=7)
    assert num_cut == 0
    anna, lives, in_, rome, s, t, stop = range(5, 12)
    assert features["input_ids"].tolist() == [
        [CLS, anna, UNK, rome, s, SEP, 0], [CLS, in_, rome, s, t, lives, SEP], [CLS, rome, s, stop, SEP, 0, 0]]
    assert features["input_mask"].tolist() == [[1] * 6 + [0], [1] * 7, [1] * 5 + [0] * 2]
    assert features["label_ids"].tolist() == [
        [-1, 0, 0, 1, -1, -1, -1], [-1, 0, 1, -1, -1, 2, -1], [-1, 1, -1, 0, -1, -1, -1]]
    assert not features["segment_ids"].any()
    assert {values.dtype for values in features.values()} == {np.dtype(np.int32)}


def test_a_word_longer_than_a_row_loses_its_last_pieces(tokenizer):
    sentences = sentences_of(["Anna", "romestst", "."])
    features, num_cut = conll.convert_sentences_to_features(sentences, ("O", "B-X"), tokenizer, max_seq_length=5)
    assert num_cut == 1
    assert features["input_ids"].tolist() == [[CLS, 5, SEP, 0, 0], [CLS, 8, 9, 10, SEP], [CLS, 11, SEP, 0, 0]]
    assert features["label_ids"].tolist() == [[-1, 0, -1, -1, -1], [-1, 0, -1, -1, -1], [-1, 0, -1, -1, -1]]


def test_every_word_has_one_prediction_in_its_order(tokenizer, monkeypatch):
    monkeypatch.setattr(conll, "WORDS_AT_A_TIME", 3)
    rng = np.random.default_rng(3)
    choice = ["anna", "romest", "\x02", "romeststst", ".", "unknown"]
    words = [[choice[number] for number in rng.integers(len(choice), size=size)] for size in (1, 17, 4, 30)]
    places = [[f"{number}-{place}" for place in range(len(each))] for number, each in enumerate(words)]
    names = tuple(sorted(itertools.chain(*places)))
    sentences = sentences_of(*words, labels=places)
    features, _ = conll.convert_sentences_to_features(sentences, names, tokenizer, max_seq_length=6)
    found = conll.of_words(features["label_ids"], features["label_ids"])
    assert conll.by_sentence([names[id_] for id_ in found], sentences) == places


def test_an_unknown_label_is_named(tokenizer):
    sentences = sentences_of(["anna"], ["in", "rome"], labels=[["O"], ["O", "B-PER"]])
    with pytest.raises(ValueError, match=r"file:11: label 'B-PER' is unknown: the labels of the training data are O, "
                                         "B-LOC, I-LOC"):
        conll.convert_sentences_to_features(sentences, ("O", "B-LOC", "I-LOC"), tokenizer, max_seq_length=6)


def test_predictions_are_a_column_more(write, tmp_path):
    sentences = conll.read_sentences(write("-DOCSTART- -X- O\n\nAnna  NNP I-PER\n\n\nin\tIN\tO\nRome\tNNP\tI-LOC"),
                                     label_column=-1)
    conll.write_predictions(str(tmp_path / "out"), sentences, [["B-PER"], ["O", "B-LOC"]])
    assert (tmp_path / "out").read_text() == (
        "-DOCSTART- -X- O O\n\nAnna  NNP I-PER B-PER\n\n\nin\tIN\tO\tO\nRome\tNNP\tI-LOC\tB-LOC\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "words.txt"]
    with pytest.raises(OSError, match=r"none/out: cannot be written: No such file or directory"):
        conll.write_predictions(str(tmp_path / "none" / "out"), sentences, [["B-PER"], ["O", "B-LOC"]])


@pytest.mark.parametrize(("scheme", "labels"), [(conll.IOB1, IOB1), (conll.IOB2, IOB2), (conll.IOBES, IOBES)])
def test_predictions_have_the_scheme_of_the_file(write, scheme, labels):
    path = write("".join(f"word {label}\n" for label in labels) + "\nword O\n")
    assert conll.find_scheme(conll.read_sentences(path), -1) == scheme
    assert conll.from_iob2(IOB2, scheme) == labels


@pytest.mark.parametrize(("text", "label_column"), [
    ("word\n", -1), ("word\n", 3), ("word NN\nword I-PER\n", -1), ("word O\n", -1),
    ("word O\nword I-PER\nword O\nword B-PER\n", -1)])
def test_files_without_labels_or_with_wrong_ones_have_predictions_in_iob2(write, text, label_column):
    assert conll.find_scheme(conll.read_sentences(write(text)), label_column) == conll.IOB2
