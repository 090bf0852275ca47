"""Text files -> tokenized documents, kept as flat arrays of ids.

An input file holds one sentence a line, encoded in UTF-8; a line that is empty or only white space ends a
document. The end of a file does not: a file that should end its last document ends with a blank line, as in
the original. A name that ends in .gz is read through gzip.
"""

import array
import dataclasses
import gzip
import os
import zlib

import numpy as np
import tensorflow as tf

BLOCK_BYTES = 1 << 19  # text tokenized in one call; larger blocks were not measurably faster


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
    sentence_starts: array.array  # not NumPy: taking one item is several times faster, and gives an int
    document_starts: array.array
    num_bytes: int

    @property
    def num_sentences(self):
        return len(self.sentence_starts) - 1

    @property
    def num_documents(self):
        return len(self.document_starts) - 1


def total_size(paths):
    """Bytes of the files as they lie on the disk, the unit of `read_corpus`'s progress."""
    return sum(tf.io.gfile.stat(path).length for path in paths)


def read_corpus(paths, tokenizer, on_progress=None, block_bytes=BLOCK_BYTES):
    """Reads and tokenizes files into a `Corpus`.

    Args:
      paths: the text files, in the order in which their documents are to stand.
      tokenizer: a BertTokenizer; its `tokenize` is called on batches of lines.
      on_progress: called with the number of bytes, as they lie on the disk, read since the last call.
      block_bytes: about how much text is tokenized in one call; the result does not depend on it.

    Raises:
      ValueError: a line that is not UTF-8, naming file and line; no sentence in any file.
      OSError: a file that cannot be read.
    """
    dtype = np.uint16 if tokenizer.vocab_size <= 1 << 16 else np.uint32
    tokens, lengths, documents = [], [], []
    num_documents = num_bytes = 0
    for path in paths:
        for block in read_blocks(path, on_progress, block_bytes):
            num_bytes += len(block)
            lines = block.split(b"\n")
            if not lines[-1]:
                lines.pop()
            ids, row_lengths, is_blank = _tokenize_lines(lines, tokenizer)
            is_sentence = row_lengths > 0
            tokens.append(ids.astype(dtype))
            lengths.append(row_lengths[is_sentence])
            documents.append(num_documents + np.cumsum(is_blank)[is_sentence])
            num_documents += np.count_nonzero(is_blank)
    if not sum(map(len, lengths)):
        raise ValueError(f"no sentence in {_listed(paths)}: an input file holds one sentence a line")
    sentence_starts = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
    is_first = np.diff(np.concatenate(documents), prepend=-1) > 0  # several blank lines make one boundary
    document_starts = np.append(np.flatnonzero(is_first), len(is_first))
    return Corpus(np.concatenate(tokens), array.array("q", sentence_starts.astype(np.int64).tobytes()),
                  array.array("q", document_starts.astype(np.int64).tobytes()), num_bytes)


def read_blocks(path, on_progress=None, block_bytes=BLOCK_BYTES):
    """Yields the text of a file as bytes objects of whole lines, each of about `block_bytes`.

    Raises:
      ValueError: bytes that are not UTF-8, naming file and line; a damaged .gz file.
      OSError: a file that cannot be read.
    """
    with tf.io.gfile.GFile(path, "rb") as raw:
        file = gzip.GzipFile(fileobj=raw) if path.endswith(".gz") else raw
        line_number, seen = 1, 0
        while block := _read_lines(file, path, block_bytes):
            _check_utf8(block, path, line_number)
            line_number += block.count(b"\n")
            yield block
            if on_progress:
                on_progress(raw.tell() - seen)
                seen = raw.tell()


def _read_lines(file, path, block_bytes):
    try:
        block = file.read(block_bytes)
        return block + file.readline() if block else block
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path}: not a gzip file, or a damaged one: {error}") from error
    except tf.errors.OpError as error:
        raise OSError(f"{path}: cannot be read: {error.message}") from error


def _check_utf8(block, path, line_number):
    try:
        block.decode("utf-8")
    except UnicodeDecodeError as error:
        line_number += block.count(b"\n", 0, error.start)
        raise ValueError(f"{path}, line {line_number}: byte 0x{block[error.start]:02x} is not UTF-8: convert "
                         f"the file to UTF-8 first") from error


def _tokenize_lines(lines, tokenizer):
    """Ids [tokens] int32 of all lines; for each line, how many they are and whether it ends a document."""
    ragged = tokenizer.tokenize(lines)
    row_lengths = np.diff(ragged.row_splits.numpy())
    is_blank = np.zeros(len(lines), bool)
    for row in np.flatnonzero(row_lengths == 0):  # a line of, say, only control characters ends no document
        is_blank[row] = not lines[row].decode("utf-8").strip()
    return ragged.flat_values.numpy(), row_lengths, is_blank


def _listed(paths):
    return os.fspath(paths[0]) if len(paths) == 1 else f"any of {len(paths)} files, {paths[0]} the first"
