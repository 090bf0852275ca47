"""Files with a label per word, their entity schemes, and features by hand."""

import itertools

import numpy as np
import pytest

from bert_tf.errors import InputError
from data_prep.tasks import conll, word_features

CLS, SEP, UNK, ANNA, LIVES, IN, ROME, S, T, STOP = 2, 3, 1, *range(5, 12)
NO = word_features.IGNORED

IOB2 = ["B-PER", "I-PER", "B-PER", "O", "B-LOC", "I-LOC", "I-LOC", "O", "B-ORG", "B-LOC"]
IOB1 = ["I-PER", "I-PER", "B-PER", "O", "I-LOC", "I-LOC", "I-LOC", "O", "I-ORG", "I-LOC"]
IOBES = ["B-PER", "E-PER", "S-PER", "O", "B-LOC", "I-LOC", "E-LOC", "O", "S-ORG", "S-LOC"]


@pytest.fixture(scope="module")
def tokenizer(make_tokenizer):
    return make_tokenizer("anna", "lives", "in", "rome", "##s", "##t", ".")


def make_sentences(*sentences, labels=None):
    lines = [[10 * number + place for place in range(len(words))] for number, words in enumerate(sentences)]
    return conll.Sentences("file", [], lines, list(sentences), labels)


def test_conll_2003(write):
    path = write("words.txt", "-DOCSTART- -X- O O\n\nAnna NNP I-NP I-PER\nlives  VBZ I-VP O \n\n\n"
                 "-DOCSTART- -X- O O\n\nRome NNP I-NP I-LOC\r\nAnna NNP I-NP I-PER\n. . O O")
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


def test_each_word_of_a_document_has_its_label_in_one_window(write, tokenizer):
    """Ten tokens in windows of six: 0 to 5, 3 to 7, since the last word has two, and 4 to 9; then a short document.

    Sentences follow each other without a mark. The second "in" has one token to its right in the second window, and
    two to its left in the third.
    """
    path = write("words.txt", "-DOCSTART- O\n\nanna B-PER\nromes B-LOC\n\nin O\nrome B-LOC\n. O\n\nin O\nlives O\n"
                 "annas B-PER\n\n-DOCSTART- O\n. O\n\nin O\n")
    sentences = conll.read_sentences(path, label_column=1)
    assert sentences.documents == [1, 1, 1, 2, 2]
    names = conll.find_label_names(sentences)  # O, B-LOC, I-LOC, B-PER, I-PER
    features, num_cut = word_features.convert_sentences_to_features(
        sentences, names, tokenizer, 8, document_context=True)
    assert features["input_ids"].tolist() == [
        [CLS, ANNA, ROME, S, IN, ROME, STOP, SEP], [CLS, IN, ROME, STOP, IN, LIVES, SEP, 0],
        [CLS, ROME, STOP, IN, LIVES, ANNA, S, SEP], [CLS, STOP, IN, SEP, 0, 0, 0, 0]]
    assert features["label_ids"].tolist() == [
        [NO, 3, 1, NO, 0, 1, NO, NO], [NO, NO, NO, 0, NO, NO, NO, NO],
        [NO, NO, NO, 0, 0, 3, NO, NO], [NO, 0, 0, NO, NO, NO, NO, NO]]
    assert num_cut == 0
    without_documents = conll.read_sentences(write("words.txt", "anna B-PER\nin O"), label_column=1)
    with pytest.raises(InputError, match=r"^`document_context`=True: .* -DOCSTART-.*words\.txt contains none"):
        word_features.convert_sentences_to_features(without_documents, names, tokenizer, 8, document_context=True)


def test_tabs_and_invalid_bytes(write):
    sentences = conll.read_sentences(write("words.txt", "\ufeffO\t1\tAn na\nB-PER\t2\t\xa0\n \nO\t\ti\u2028n"), 2, 0)
    assert sentences.words == [["An na", "\xa0"], ["i\u2028n"]]
    assert sentences.labels == [["O", "B-PER"], ["O"]]
    latin = conll.read_sentences(write("latin.txt", b"a O\ncaf\xe9 O\n"))
    assert (latin.words, latin.num_garbled) == ([["a", "caf"]], 1)


def test_spaces_around_a_label_are_not_part_of_it(write):
    sentences = conll.read_sentences(write("words.txt", "a \tB-X \nb\tI-X\nc\tO \n"), 0, 1)
    assert (sentences.words, sentences.labels) == ([["a ", "b", "c"]], [["B-X", "I-X", "O"]])
    assert conll.find_scheme(sentences, 1) == conll.IOB2


@pytest.mark.parametrize(("labels", "expected"), [
    (IOB1, IOB2), (IOB2, IOB2), (IOBES, IOB2),
    (["E-PER", "I-LOC", "O", "I-LOC", "E-PER"], ["B-PER", "B-LOC", "O", "B-LOC", "B-PER"])])  # invalid in all schemes
def test_conversion_to_iob2(labels, expected):
    assert conll.to_iob2(labels) == expected


@pytest.mark.parametrize(("text", "columns", "message"), [
    ("a O\nb X O\n", (0, -1), r"words\.txt:2: has 3 columns, but line 1 has 2"),
    ("a O\n", (0, 2), r"words\.txt:1: column 2 does not exist; the row has 2 columns: 0 to 1, or -2 to -1"),
    ("a\tO\nb\t\n", (0, 1), r"words\.txt:2: column 1 is empty"),
    ("a\tO\nb\t \n", (0, 1), r"words\.txt:2: column 1 is empty"),
    ("a O\n".encode("utf-16"), (0, 1), r"words\.txt: is UTF-16; save the file as UTF-8"),
    ("a\nb\n", (0, -1), r"words\.txt:1: of 1 columns, 0 and -1 are the same"),
    ("a B-X\nb X\n", (0, 1), r"words\.txt:2: label 'X': must be O, or an entity type with the prefix B-"),
    ("a B-X\nb U-X\n", (0, 1), r"words\.txt:2: label 'U-X': must be O, or"),
    ("-DOCSTART- O\n\n", (0, 1), r"words\.txt: contains no words"),
    ("a O\nb O\n", (0, 1), r"words\.txt: all words have the label 'O'; check `label_column`"),
    (None, (0, 1), r"words\.txt: does not exist"),
])
def test_invalid_files(write, tmp_path, text, columns, message):
    if text is not None:
        write("words.txt", text)
    with pytest.raises(InputError, match=message):
        conll.find_label_names(conll.read_sentences(str(tmp_path / "words.txt"), *columns))


def test_features_by_hand(tokenizer):
    """The first token of a word has its label. A control character is [UNK]. Sentences are divided between words."""
    sentences = make_sentences(["Anna", "\x01", "Romes"], ["in", "Romest", "lives", "romes", "."],
                               labels=[["O", "O", "B-LOC"], ["O", "B-LOC", "I-LOC", "B-LOC", "O"]])
    features, num_cut = word_features.convert_sentences_to_features(
        sentences, ("O", "B-LOC", "I-LOC"), tokenizer, max_seq_length=7)
    assert num_cut == 0
    assert features["input_ids"].tolist() == [
        [CLS, ANNA, UNK, ROME, S, SEP, 0], [CLS, IN, ROME, S, T, LIVES, SEP], [CLS, ROME, S, STOP, SEP, 0, 0]]
    assert features["input_mask"].tolist() == [[1] * 6 + [0], [1] * 7, [1] * 5 + [0] * 2]
    assert features["label_ids"].tolist() == [
        [NO, 0, 0, 1, NO, NO, NO], [NO, 0, 1, NO, NO, 2, NO], [NO, 1, NO, 0, NO, NO, NO]]
    assert not features["segment_ids"].any()
    assert {values.dtype for values in features.values()} == {np.dtype(np.int32)}


def test_a_word_that_is_longer_than_a_row_loses_its_last_tokens(tokenizer):
    features, num_cut = word_features.convert_sentences_to_features(
        make_sentences(["Anna", "romestst", "romest"]), ("O", "B-X"), tokenizer, max_seq_length=5)
    assert num_cut == 1
    assert features["input_ids"].tolist() == [[CLS, ANNA, SEP, 0, 0], [CLS, ROME, S, T, SEP], [CLS, ROME, S, T, SEP]]
    assert features["label_ids"].tolist() == [[NO, 0, NO, NO, NO]] * 3


def test_every_word_has_one_prediction_in_its_order(tokenizer, monkeypatch):
    monkeypatch.setattr(word_features, "WORDS_AT_A_TIME", 3)
    rng = np.random.default_rng(3)
    choice = ["anna", "romest", "\x02", "romeststst", ".", "unknown"]
    words = [[choice[number] for number in rng.integers(len(choice), size=size)] for size in (1, 17, 4, 30)]
    labels = [[f"{number}-{place}" for place in range(len(sentence))] for number, sentence in enumerate(words)]
    names = tuple(sorted(itertools.chain(*labels)))
    sentences = make_sentences(*words, labels=labels)
    features, _ = word_features.convert_sentences_to_features(sentences, names, tokenizer, max_seq_length=6)
    found = features["label_ids"][features["label_ids"] != NO]
    assert [names[id_] for id_ in found] == list(itertools.chain(*labels))


def test_unknown_labels(tokenizer):
    """They count as misclassified if that is allowed and other words have known labels."""
    sentences, names = make_sentences(["anna"], ["in", "rome"], labels=[["O"], ["O", "B-PER"]]), ("O", "B-LOC", "I-LOC")
    with pytest.raises(InputError, match=r"file:11: unknown label 'B-PER'; the training data has the labels O, B-L"):
        word_features.convert_sentences_to_features(sentences, names, tokenizer, max_seq_length=6)
    features, _ = word_features.convert_sentences_to_features(sentences, names, tokenizer, 6, allow_unknown=True)
    assert features["label_ids"].tolist() == [[NO, 0, NO, NO, NO, NO], [NO, 0, word_features.UNKNOWN_WORD, NO, NO, NO]]
    with pytest.raises(InputError, match="file:0: unknown label 'X'"):
        word_features.convert_sentences_to_features(make_sentences(["anna"], labels=[["X"]]), names, tokenizer, 6,
                                            allow_unknown=True)


def test_predictions_are_an_additional_column(write, tmp_path):
    text = "-DOCSTART- -X- O\n\nAnna  NNP I-PER\n\n\nin\tIN\tO\nRome\tNNP\tI-LOC"
    sentences = conll.read_sentences(write("words.txt", text), label_column=-1)
    conll.write_predictions(str(tmp_path / "out"), sentences, [["B-PER"], ["O", "B-LOC"]])
    assert (tmp_path / "out").read_text() == (
        "-DOCSTART- -X- O O\n\nAnna  NNP I-PER B-PER\n\n\nin\tIN\tO\tO\nRome\tNNP\tI-LOC\tB-LOC\n")


@pytest.mark.parametrize(("scheme", "labels"), [(conll.IOB1, IOB1), (conll.IOB2, IOB2), (conll.IOBES, IOBES)])
def test_predictions_have_the_scheme_of_the_file(write, scheme, labels):
    path = write("words.txt", "".join(f"word {label}\n" for label in labels) + "\nword O\n")
    assert conll.find_scheme(conll.read_sentences(path), -1) == scheme
    assert conll.from_iob2(IOB2, scheme) == labels


@pytest.mark.parametrize(("text", "label_column"), [
    ("word\n", -1), ("word\n", 3), ("word NN\nword I-PER\n", -1), ("word O\n", -1),
    ("word O\nword I-PER\nword O\nword B-PER\n", -1)])
def test_predictions_are_iob2_if_the_file_has_no_consistent_labels(write, text, label_column):
    assert conll.find_scheme(conll.read_sentences(write("words.txt", text)), label_column) == conll.IOB2
