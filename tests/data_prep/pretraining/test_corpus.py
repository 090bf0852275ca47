"""Text to documents of token ids."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from data_prep.pretraining import corpus, shard_plan


class CharacterTokenizer:
    """Stands in for BertTokenizer: a piece for each letter, "a" being 1; other characters have none."""

    vocab_size = 27

    def tokenize(self, texts):
        rows = [[code - 96 for code in text if 97 <= code <= 122] for text in texts]
        return tf.RaggedTensor.from_row_lengths(
            tf.constant([piece for row in rows for piece in row], tf.int32), list(map(len, rows)))


def read(path, num_threads=1, more_paths=(), **kwargs):
    """The corpus of files as nested lists: documents of sentences of ids; and the Corpus."""
    (unit,) = shard_plan.plan_units([str(each) for each in (path, *more_paths)])
    with shard_plan.TextReader() as reader:
        read_corpus = corpus.tokenize(reader.read(unit, **kwargs), CharacterTokenizer(), num_threads)
    sentences = [read_corpus.tokens[start:stop].tolist()
                 for start, stop in itertools.pairwise(read_corpus.sentence_starts)]
    documents = [sentences[start:stop] for start, stop in itertools.pairwise(read_corpus.document_starts)]
    return documents, read_corpus


def write(path, data):
    path.write_bytes(data)
    return path


TEXT = b"ab\nc\n\nd\n"
DOCUMENTS = [[[1, 2], [3]], [[4]]]


@pytest.mark.parametrize("text", [
    TEXT,
    b"ab\nc\n\nd",  # no end of line at the end
    b"\n\nab\nc\n\n\n\nd\n\n",  # blank lines anywhere
    b"ab\r\nc\r\n\r\nd\r\n",
    b" ab\t\nc \n \t \nd\n",  # white space only
    "ab\nc\n\u2003\u3000\nd\n".encode(),  # Unicode's white space only
    b"ab\n!\nc\n\x1c\nd\n",  # "!" gives no piece and ends no document; a separator character does
    "ab\n\u200b\nc\n\nd\n".encode(),  # nor does a zero-width space, which str.strip() leaves
    "ab\u2028\u0085\nc\n\nd\n".encode(),  # lines end at \n only
])
def test_documents(tmp_path, text):
    documents, read_corpus = read(write(tmp_path / "a.txt", text))

    assert documents == DOCUMENTS
    assert read_corpus.num_documents == 2
    assert read_corpus.num_sentences == 3
    assert read_corpus.num_bytes == len(text)
    assert read_corpus.num_garbled == 0


def test_bytes_that_are_not_utf8_are_dropped_and_their_lines_counted(tmp_path):
    documents, read_corpus = read(write(tmp_path / "a.txt", b"a\xffb\nc\xc3\n\xff\nd\n"), block_bytes=3)
    assert documents == DOCUMENTS  # a line of such bytes alone is empty, and ends a document
    assert (read_corpus.num_garbled, read_corpus.num_bytes) == (3, 11)
    assert read_corpus.tokens.dtype == np.uint16


def test_large_vocabulary_takes_wider_ids(tmp_path, monkeypatch):
    monkeypatch.setattr(CharacterTokenizer, "vocab_size", 65537)

    _, read_corpus = read(write(tmp_path / "a.txt", TEXT))

    assert read_corpus.tokens.dtype == np.uint32


@pytest.mark.parametrize("num_threads", [1, 3])
@pytest.mark.parametrize("block_bytes", [1, 2, 3, 4, 7, 100])
def test_blocks_and_threads_make_no_difference(tmp_path, block_bytes, num_threads):
    documents, _ = read(write(tmp_path / "a.txt", TEXT), num_threads, block_bytes=block_bytes)

    assert documents == DOCUMENTS


def test_a_document_goes_on_in_the_next_file(tmp_path):
    first = write(tmp_path / "a.txt", b"ab\n")
    second = write(tmp_path / "b.txt", b"c\n\nd\n")

    assert read(first, more_paths=[second])[0] == DOCUMENTS


@pytest.mark.parametrize("text", [b"", b"\n \n", b"!\n"])
def test_no_sentence(tmp_path, text):
    documents, read_corpus = read(write(tmp_path / "a.txt", text))

    assert documents == []
    assert (read_corpus.num_sentences, read_corpus.num_documents) == (0, 0)
    assert read_corpus.num_bytes == len(text)
