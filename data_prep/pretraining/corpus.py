"""Tokenized documents, kept as flat arrays of ids."""

import dataclasses

import numpy as np

from bert_tf.files import LineDecoder
from data_prep.machine import map_in_threads


@dataclasses.dataclass(frozen=True)
class Corpus:
    """Tokenized documents: sentence s is `tokens[sentence_starts[s]:sentence_starts[s + 1]]`.

    Attributes:
      tokens: [T] uint16, or uint32 for a vocabulary of more than 65,536 pieces; all sentences in order.
      sentence_starts: int64 array of one more item than there are sentences; no sentence is empty.
      document_starts: int64 array of one more item than there are documents: document d is the sentences from
        document_starts[d] up to and without document_starts[d + 1]; no document is empty.
      num_bytes: bytes of text that were read, after decompression.
      num_garbled: lines of which bytes that are not UTF-8 were dropped.
    """

    tokens: np.ndarray
    sentence_starts: np.ndarray
    document_starts: np.ndarray
    num_bytes: int
    num_garbled: int = 0

    @property
    def num_sentences(self):
        return len(self.sentence_starts) - 1

    @property
    def num_documents(self):
        return len(self.document_starts) - 1


def tokenize(blocks, tokenizer, num_threads=1):
    """Tokenizes text into a `Corpus`, which may be of no document.

    Args:
      blocks: iterable of bytes objects, each of whole lines in UTF-8, other bytes are dropped: one sentence a line,
        documents end with a blank line; a document may continue in the next block. Blocks of about half a megabyte are
        fast.
      tokenizer: a BertTokenizer; its `tokenize` is called on batches of lines.
      num_threads: threads that tokenize.
    """
    dtype = np.uint16 if tokenizer.vocab_size <= 1 << 16 else np.uint32
    tokens, lengths, documents = [np.zeros(0, dtype)], [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    num_documents = num_bytes = num_garbled = 0

    for ids, row_lengths, ends_document, size, garbled in map_in_threads(
            lambda block: _tokenize_block(block, tokenizer), blocks, num_threads):
        num_bytes += size
        num_garbled += garbled
        is_sentence = row_lengths > 0
        tokens.append(ids.astype(dtype))
        lengths.append(row_lengths[is_sentence])
        documents.append(num_documents + np.cumsum(ends_document)[is_sentence])
        num_documents += np.count_nonzero(ends_document)
    sentence_starts = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
    is_first = np.diff(np.concatenate(documents), prepend=-1) > 0  # several blank lines make one boundary
    document_starts = np.append(np.flatnonzero(is_first), len(is_first))
    return Corpus(np.concatenate(tokens), sentence_starts, document_starts, num_bytes, num_garbled)


def is_blank(line):
    """Whether a line, as bytes, ends a document."""
    return not line.decode("utf-8", "ignore").strip()


def _tokenize_block(block, tokenizer):
    """Ids [tokens] int32; of each line how many and whether it ends a document; bytes; lines that lost some."""
    lines = block.split(b"\n")
    if not lines[-1]:
        lines.pop()
    decoder = LineDecoder()
    decoder(block)
    if decoder.num_garbled:
        decoder = LineDecoder()
        lines = [decoder(line).encode() for line in lines]
    ragged = tokenizer.tokenize(lines)
    row_lengths = np.diff(ragged.row_splits.numpy())
    ends_document = np.zeros(len(lines), bool)
    for row in np.flatnonzero(row_lengths == 0):  # a line of, say, only control characters ends no document
        ends_document[row] = is_blank(lines[row])
    return ragged.flat_values.numpy(), row_lengths, ends_document, len(block), decoder.num_garbled
