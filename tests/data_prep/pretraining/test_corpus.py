"""Tokenization of text into documents."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from data_prep import reading
from data_prep.pretraining import corpus, parts

TEXT = b"ab\nc\n\nd\n"
DOCUMENTS = [[[1, 2], [3]], [[4]]]


class CharacterTokenizer:
    """A substitute for BertTokenizer, whose tokens are letters.

    IDs begin with 1 for "a". Other characters are not tokens.
    """

    vocab_size = 27

    def tokenize(self, texts):
        rows = [[code - 96 for code in text if 97 <= code <= 122] for text in texts]
        return tf.RaggedTensor.from_row_lengths(
            tf.constant([id_ for row in rows for id_ in row], tf.int32), list(map(len, rows))
        )


def read(*paths):
    """The corpus of files as nested lists, documents of sentences of IDs; and the Corpus."""
    (part,) = parts.plan_parts(list(paths))
    return tokenize(parts.read_part(part))


def tokenize(blocks):
    """The corpus of blocks of text, as `read`."""
    found = corpus.tokenize(blocks, CharacterTokenizer())
    sentences = [
        found.tokens[start:stop].tolist()
        for start, stop in itertools.pairwise(found.sentence_starts)
    ]
    documents = [sentences[start:stop] for start, stop in itertools.pairwise(found.document_starts)]
    assert (found.num_sentences, found.num_documents) == (len(sentences), len(documents))
    return documents, found


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        b"ab\nc\n\nd",  # no line end at the end
        b"\n\nab\nc\n\n\n\nd\n\n",  # blank lines anywhere
        b"ab\r\nc\r\n\r\nd\r\n",
        b" ab\t\nc \n \t \nd\n",  # only white space
        "ab\nc\n\u2003\u3000\nd\n".encode(),  # only white space of Unicode
        # "!" gives no token and ends no document, but a separator character does.
        b"ab\n!\nc\n\x1c\nd\n",
        "ab\n\u200b\nc\n\nd\n".encode(),  # a zero-width space, which str.strip() keeps, does not
        "ab\u2028\u0085\nc\n\nd\n".encode(),  # only \n ends a line
    ],
)
def test_documents(write, text):
    documents, found = read(write("a.txt", text))
    assert documents == DOCUMENTS
    assert (found.num_bytes, found.num_garbled) == (len(text), 0)


def test_invalid_bytes_are_dropped_and_their_lines_counted(write):
    documents, found = read(write("a.txt", b"a\xffb\nc\xc3\n\xff\nd\n"))
    assert documents == DOCUMENTS  # a line of only such bytes is empty, and ends a document
    assert (found.num_garbled, found.num_bytes) == (3, 11)
    assert found.tokens.dtype == np.uint16


def test_ids_of_large_vocabularies_are_wider(write, monkeypatch):
    monkeypatch.setattr(CharacterTokenizer, "vocab_size", 65537)
    assert read(write("a.txt", TEXT))[1].tokens.dtype == np.uint32


@pytest.mark.parametrize("block_bytes", [1, 2, 3, 4, 7, 100])
def test_blocks_make_no_difference(write, block_bytes):
    # The first document continues in the second file.
    paths = write("a.txt", TEXT[:3]), write("b.txt", TEXT[3:])
    blocks = [
        block for path in paths for block, _ in reading.read_blocks(path, block_bytes=block_bytes)
    ]
    assert tokenize(blocks)[0] == DOCUMENTS


@pytest.mark.parametrize("text", [b"", b"\n \n", b"!\n"])
def test_no_sentence(write, text):
    documents, found = read(write("a.txt", text))
    assert (documents, found.num_bytes) == ([], len(text))
