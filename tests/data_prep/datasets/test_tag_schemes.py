"""Schemes of entity labels, which are compared with seqeval."""

import itertools

import pytest
from seqeval.metrics.sequence_labeling import get_entities

from data_prep.datasets import conll
from data_prep.datasets.tag_schemes import (
    SCHEMES,
    describe_unknown_scheme,
    find_scheme,
    to_iob2,
)
from tests.conftest import REFERENCE
from tests.errors import rejects


def test_short_sequences_have_the_entities_of_seqeval():
    """All sequences of up to three labels of two types, most of which are malformed."""
    labels = ["O", *(f"{prefix}-{type_}" for prefix in "BIES" for type_ in "XY")]
    sequences = [
        list(sequence)
        for length in (1, 2, 3)
        for sequence in itertools.product(labels, repeat=length)
    ]
    assert len(sequences) == 819
    for sequence in sequences:
        assert get_entities(to_iob2(sequence)) == get_entities(sequence), sequence


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("IOBES", ["B-X", "I-X", "E-X", "S-X", "E-X", "O", "S-Y"]),
        ("BILOU", ["B-X", "I-X", "L-X", "U-X", "L-X", "O", "U-Y"]),
        ("BMES", ["B-X", "M-X", "E-X", "S-X", "E-X", "O", "W-Y"]),
    ],
)
def test_schemes(name, labels):
    scheme = find_scheme({*labels})
    assert scheme is SCHEMES[name]
    assert to_iob2(labels, scheme) == ["B-X", "I-X", "I-X", "B-X", "B-X", "O", "B-Y"]


def test_bilou_with_only_one_word_entities():
    sentences = conll.read_sentences(str(REFERENCE / "tables" / "bilou_only_u.txt"), 0, -1)
    assert sentences.labels[0] == ["B-PER", "O", "O", "B-LOC", "O"]
    assert conll.find_label_names(sentences) == ("O", "B-LOC", "I-LOC", "B-PER", "I-PER")


def test_prefixes_of_several_schemes(write):
    with rejects("a.txt", "prefixes B, L, M", "no scheme of entities"):
        conll.read_sentences(write("a.txt", "a B-X\nb L-X\nc M-X\n"), 0, -1)


@pytest.mark.parametrize(
    ("names", "is_noted"),
    [
        (("B_PER", "I_PER", "O"), True),
        (("PER-B", "PER-I", "O"), True),
        (("b-per", "i-per", "o"), True),
        (("B", "I", "O"), True),
        (("0", "1", "3"), True),
        (("B-PER", "I-PER", "O"), False),
        (("NOUN", "VERB", "X"), False),
        (("NNP", "VBZ", ".", "O"), False),
    ],
)
def test_a_note_about_labels_without_a_known_scheme(names, is_noted):
    note = describe_unknown_scheme(names)
    assert bool(note) == is_noted
    assert not note or note.endswith("the first line of a file could be 'Anna B-PER'")
