"""Features of words with labels, by hand; windows over documents."""

import itertools

import numpy as np
import pytest

from bert_tf.errors import InputError
from data_prep.datasets import conll
from data_prep.tasks import word_features
from tests.errors import rejects

UNK = 1
CLS = 2
SEP = 3
ANNA, LIVES, IN, ROME, S, T, STOP = range(5, 12)
NO = word_features.IGNORED


@pytest.fixture(scope="module")
def tokenizer(make_tokenizer):
    return make_tokenizer("anna", "lives", "in", "rome", "##s", "##t", ".")


def make_sentences(*sentences, labels=None):
    lines = [
        [10 * number + index for index in range(len(words))]
        for number, words in enumerate(sentences)
    ]
    return conll.Sentences("file", [], lines, list(sentences), labels)


def test_each_word_of_a_document_has_its_label_in_one_window(write, tokenizer):
    """Ten tokens in windows of six: 0 to 5, 3 to 7, since the last word has two, and 4 to 9.

    A short document follows. Sentences follow each other without a mark. The second "in" has one
    token to its right in the second window, and two to its left in the third.
    """
    path = write(
        "words.txt",
        "-DOCSTART- O\n\nanna B-PER\nromes B-LOC\n\nin O\nrome B-LOC\n. O\n\nin O\nlives O\n"
        "annas B-PER\n\n-DOCSTART- O\n. O\n\nin O\n",
    )
    sentences = conll.read_sentences(path, label_column=1)
    assert sentences.documents == [1, 1, 1, 2, 2]
    names = conll.find_label_names(sentences)  # O, B-LOC, I-LOC, B-PER, I-PER
    features, num_cut = word_features.convert_sentences_to_features(
        sentences, names, tokenizer, 8, document_context=True
    )
    assert features["input_ids"].tolist() == [
        [CLS, ANNA, ROME, S, IN, ROME, STOP, SEP],
        [CLS, IN, ROME, STOP, IN, LIVES, SEP, 0],
        [CLS, ROME, STOP, IN, LIVES, ANNA, S, SEP],
        [CLS, STOP, IN, SEP, 0, 0, 0, 0],
    ]
    assert features["label_ids"].tolist() == [
        [NO, 3, 1, NO, 0, 1, NO, NO],
        [NO, NO, NO, 0, NO, NO, NO, NO],
        [NO, NO, NO, 0, 0, 3, NO, NO],
        [NO, 0, 0, NO, NO, NO, NO, NO],
    ]
    labels = features["label_ids"][features["label_ids"] != NO]
    assert labels.tolist() == [3, 1, 0, 1, 0, 0, 0, 3, 0, 0]
    assert num_cut == 0
    without_documents = conll.read_sentences(write("words.txt", "anna B-PER\nin O"), label_column=1)
    with rejects("document_context", "words.txt contains none", value=True):
        word_features.convert_sentences_to_features(
            without_documents, names, tokenizer, 8, document_context=True
        )


def test_features_by_hand(tokenizer):
    """The first token of a word has its label.

    A control character is [UNK]. Sentences are divided between words.
    """
    sentences = make_sentences(
        ["Anna", "\x01", "Romes"],
        ["in", "Romest", "lives", "romes", "."],
        labels=[["O", "O", "B-LOC"], ["O", "B-LOC", "I-LOC", "B-LOC", "O"]],
    )
    features, num_cut = word_features.convert_sentences_to_features(
        sentences, ("O", "B-LOC", "I-LOC"), tokenizer, max_seq_length=7
    )
    assert num_cut == 0
    assert features["input_ids"].tolist() == [
        [CLS, ANNA, UNK, ROME, S, SEP, 0],
        [CLS, IN, ROME, S, T, LIVES, SEP],
        [CLS, ROME, S, STOP, SEP, 0, 0],
    ]
    assert features["input_mask"].tolist() == [[1] * 6 + [0], [1] * 7, [1] * 5 + [0] * 2]
    assert features["label_ids"].tolist() == [
        [NO, 0, 0, 1, NO, NO, NO],
        [NO, 0, 1, NO, NO, 2, NO],
        [NO, 1, NO, 0, NO, NO, NO],
    ]
    assert not features["segment_ids"].any()
    assert {values.dtype for values in features.values()} == {np.dtype(np.int32)}


def test_a_word_that_is_longer_than_a_row_loses_its_last_tokens(tokenizer):
    features, num_cut = word_features.convert_sentences_to_features(
        make_sentences(["Anna", "romestst", "romest"]), ("O", "B-X"), tokenizer, max_seq_length=5
    )
    assert num_cut == 1
    assert features["input_ids"].tolist() == [
        [CLS, ANNA, SEP, 0, 0],
        [CLS, ROME, S, T, SEP],
        [CLS, ROME, S, T, SEP],
    ]
    assert features["label_ids"].tolist() == [[NO, 0, NO, NO, NO]] * 3


def test_unknown_labels(tokenizer):
    """They count as misclassified if that is allowed and other words have known labels."""
    sentences = make_sentences(["anna"], ["in", "rome"], labels=[["O"], ["O", "B-PER"]])
    names = ("O", "B-LOC", "I-LOC")
    with rejects(None, "file:11", "unknown label 'B-PER'", "labels O, B-L"):
        word_features.convert_sentences_to_features(sentences, names, tokenizer, max_seq_length=6)
    features, _ = word_features.convert_sentences_to_features(
        sentences, names, tokenizer, 6, allow_unknown=True
    )
    assert features["label_ids"].tolist() == [
        [NO, 0, NO, NO, NO, NO],
        [NO, 0, word_features.UNKNOWN_WORD, NO, NO, NO],
    ]
    with pytest.raises(InputError, match="file:0: unknown label 'X'"):
        word_features.convert_sentences_to_features(
            make_sentences(["anna"], labels=[["X"]]), names, tokenizer, 6, allow_unknown=True
        )


def test_windows_of_six_tokens_by_hand():
    """For words 4 and 6, two windows have equal context, one and two tokens: the first counts."""
    assert word_features.compute_windows([1] * 10, 6) == [
        (0, 6, 0, 5),
        (3, 9, 5, 7),
        (4, 10, 7, 10),
    ]


@pytest.mark.parametrize("seed", range(20))
def test_each_word_counts_once_in_the_window_with_the_most_context(seed):
    rng = np.random.default_rng(seed)
    room = int(rng.integers(2, 30))
    lengths = rng.integers(
        1, room + 1 if seed % 2 else min(4, room + 1), rng.integers(1, 120)
    ).tolist()
    windows = word_features.compute_windows(lengths, room)
    assert list(itertools.chain(*(range(first, last) for _, _, first, last in windows))) == list(
        range(len(lengths))
    )
    offsets = np.concatenate([[0], np.cumsum(lengths)])

    def count_context(word, start, stop):
        return min(offsets[word] - offsets[start], offsets[stop] - offsets[word + 1])

    for start, stop, first, last in windows:
        assert offsets[stop] - offsets[start] <= room
        for word in range(first, last):
            context = count_context(word, start, stop)
            assert context >= max(
                0, *(count_context(word, *other[:2]) for other in windows + windows[:1])
            )
