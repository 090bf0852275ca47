"""Tokenized documents, kept as flat arrays of ids."""

import dataclasses

import numpy as np

from data_prep.parallel import map_in_threads


@dataclasses.dataclass(frozen=True)
class Corpus:
    """Tokenized documents: sentence s is `tokens[sentence_starts[s]:sentence_starts[s + 1]]`.

    Attributes:
      tokens: [T] uint16, or uint32 for a vocabulary of more than 65,536 pieces; all sentences in order.
      sentence_starts: int64 array of one more item than there are sentences; no sentence is empty.
      document_starts: int64 array of one more item than there are documents: document d is the sentences from
        document_starts[d] up to and without document_starts[d + 1]; no document is empty.
      num_bytes: bytes of text that were read, after decompression.
    """

    tokens: np.ndarray
    sentence_starts: np.ndarray
    document_starts: np.ndarray
    num_bytes: int

    @property
    def num_sentences(self):
        return len(self.sentence_starts) - 1

    @property
    def num_documents(self):
        return len(self.document_starts) - 1


def tokenize(blocks, tokenizer, num_threads=1):
    """Tokenizes text into a `Corpus`, which may be of no document.

    Args:
      blocks: iterable of bytes objects, each of whole lines in UTF-8: one sentence a line, documents end with a blank
        line; a document may continue in the next block. Blocks of about half a megabyte are fast.
      tokenizer: a BertTokenizer; its `tokenize` is called on batches of lines.
      num_threads: threads that tokenize.
    """
    dtype = np.uint16 if tokenizer.vocab_size <= 1 << 16 else np.uint32
    tokens, lengths, documents = [np.zeros(0, dtype)], [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    num_documents = num_bytes = 0

    for ids, row_lengths, ends_document, size in map_in_threads(
            lambda block: _tokenize_block(block, tokenizer), blocks, num_threads):
        num_bytes += size
        is_sentence = row_lengths > 0
        tokens.append(ids.astype(dtype))
        lengths.append(row_lengths[is_sentence])
        documents.append(num_documents + np.cumsum(ends_document)[is_sentence])
        num_documents += np.count_nonzero(ends_document)
    sentence_starts = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
    is_first = np.diff(np.concatenate(documents), prepend=-1) > 0  # several blank lines make one boundary
    document_starts = np.append(np.flatnonzero(is_first), len(is_first))
    return Corpus(np.concatenate(tokens), sentence_starts, document_starts, num_bytes)


def is_blank(line):
    """Whether a line, as bytes, ends a document."""
    return not line.decode("utf-8", "replace").strip()


def _tokenize_block(block, tokenizer):
    """Ids [tokens] int32 of all lines; for each line, how many they are and whether it ends a document; bytes."""
    lines = block.split(b"\n")
    if not lines[-1]:
        lines.pop()
    ragged = tokenizer.tokenize(lines)
    row_lengths = np.diff(ragged.row_splits.numpy())
    ends_document = np.zeros(len(lines), bool)
    for row in np.flatnonzero(row_lengths == 0):  # a line of, say, only control characters ends no document
        ends_document[row] = is_blank(lines[row])
    return ragged.flat_values.numpy(), row_lengths, ends_document, len(block)
