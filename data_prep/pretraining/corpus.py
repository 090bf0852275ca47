"""Tokenized documents as flat arrays of IDs."""

import dataclasses
from typing import NamedTuple

import numpy as np

from data_prep.reading import drop_garbled, is_blank


@dataclasses.dataclass(frozen=True)
class Corpus:
    """Tokenized documents: sentence s is `tokens[sentence_starts[s]:sentence_starts[s + 1]]`.

    Attributes:
      tokens: uint16 [T], or uint32 for a vocabulary of more than 65,536 tokens. All sentences in
        order.
      sentence_starts: int64 array, one item longer than the number of sentences. No sentence is
        empty.
      document_starts: int64 array, one item longer than the number of documents. Document d has the
        sentences from document_starts[d] up to, but excluding, document_starts[d + 1]. No document
        is empty.
      num_bytes: int. Bytes of text read, after decompression.
      num_garbled: int. Number of lines whose invalid UTF-8 bytes were dropped.
    """

    tokens: np.ndarray
    sentence_starts: np.ndarray
    document_starts: np.ndarray
    num_bytes: int
    num_garbled: int = 0

    @property
    def num_sentences(self):
        """Number of sentences."""
        return len(self.sentence_starts) - 1

    @property
    def num_documents(self):
        """Number of documents."""
        return len(self.document_starts) - 1


class TokenizedBlock(NamedTuple):
    """A tokenized block of text.

    Attributes:
      ids: int32 [tokens]. IDs of all lines in order.
      row_lengths: int64 [lines]. Number of IDs of each line.
      ends_document: bool [lines]. Whether a line is blank.
      num_garbled: int. Number of lines whose invalid UTF-8 bytes were dropped.
    """

    ids: np.ndarray
    row_lengths: np.ndarray
    ends_document: np.ndarray
    num_garbled: int


def tokenize(blocks, tokenizer):
    """Tokenizes text into a `Corpus`, which can have no documents.

    Args:
      blocks: Iterable of bytes objects with complete lines of UTF-8, one sentence per line; invalid
        bytes are dropped. Documents end with a blank line and can continue in the next block.
        Blocks of about half a megabyte are fast.
      tokenizer: BertTokenizer. Its `tokenize` is called on batches of lines.
    """
    dtype = np.uint16 if tokenizer.vocab_size <= 1 << 16 else np.uint32
    tokens = [np.zeros(0, dtype)]
    lengths = [np.zeros(0, np.int64)]
    documents = [np.zeros(0, np.int64)]
    num_documents = num_bytes = num_garbled = 0

    for block in blocks:
        tokenized = _tokenize_block(block, tokenizer)
        num_bytes += len(block)
        num_garbled += tokenized.num_garbled
        is_sentence = tokenized.row_lengths > 0
        tokens.append(tokenized.ids.astype(dtype))
        lengths.append(tokenized.row_lengths[is_sentence])
        documents.append(num_documents + np.cumsum(tokenized.ends_document)[is_sentence])
        num_documents += np.count_nonzero(tokenized.ends_document)
    sentence_starts = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
    # Several blank lines count as one boundary.
    is_first = np.diff(np.concatenate(documents), prepend=-1) > 0
    document_starts = np.append(np.flatnonzero(is_first), len(is_first))
    return Corpus(np.concatenate(tokens), sentence_starts, document_starts, num_bytes, num_garbled)


def _tokenize_block(block, tokenizer):
    """Tokenizes a block of text into a TokenizedBlock."""
    text, num_garbled = drop_garbled(block)
    lines = text.split(b"\n")
    if not lines[-1]:
        lines.pop()
    ragged = tokenizer.tokenize(lines)
    row_lengths = np.diff(ragged.row_splits.numpy())
    ends_document = np.zeros(len(lines), bool)
    for row in np.flatnonzero(row_lengths == 0):  # A line of only control characters is not blank.
        ends_document[row] = is_blank(lines[row])
    return TokenizedBlock(ragged.flat_values.numpy(), row_lengths, ends_document, num_garbled)
