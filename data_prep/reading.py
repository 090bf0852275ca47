"""Reads text files in blocks of complete lines. Files in gzip format are decompressed."""

import contextlib
import gzip
import hashlib
import sys
import threading
import zlib

from bert_tf import files
from bert_tf.errors import InputError
from bert_tf.files import LineDecoder
from data_prep.binary_formats import check_is_text_format

# Bytes read and tokenized together. Tokenizing larger blocks was not measurably faster.
BLOCK_BYTES = 1 << 19
MAX_LINE_BYTES = 1 << 26  # A line must fit in memory.

GZIP_START = b"\x1f\x8b"  # The first bytes of a gzip file.

_opened = threading.local()


def read_blocks(path, start=0, stop=sys.maxsize, block_bytes=BLOCK_BYTES, separator=b"\n"):
    """Yields the text of a file, or of a part of it, in blocks that end after a separator.

    Args:
      path: Path of the file.
      start, stop: int. The first byte of the text, and the first byte after it, in the decompressed
        file.
      block_bytes: int. Maximum number of bytes read at a time, and approximate size of a block.
      separator: bytes. A line end, or a space: blocks then end after words. The last block may lack
        it.

    Yields:
      Tuple `(block, size)`: bytes, and the number of bytes of the file that were read for them.

    Raises:
      InputError: If MAX_LINE_BYTES contain no separator, if a .gz file is damaged, if the
        file is not text, or see `files.check_text`.
      OSError: If the file cannot be read.
    """
    with add_path_to_errors(path), _open(path) as (stored, text):
        text.seek(start)
        remaining = stop - start
        rest = b""
        position = stored.tell()
        is_first = start == 0
        while remaining and (fresh := text.read(min(block_bytes, remaining))):
            if is_first:
                check_is_text_format(path, fresh)
                files.check_text(fresh, path)
                is_first = False
            remaining -= len(fresh)
            end = max(fresh.rfind(b"\n"), fresh.rfind(separator)) + 1
            if not end:
                rest += fresh
                if len(rest) > MAX_LINE_BYTES:
                    raise InputError(
                        f"{path}: contains a line of over {MAX_LINE_BYTES:,} bytes; divide it into "
                        "shorter lines"
                    )
                continue
            block = rest + fresh[:end]
            rest = fresh[end:]
            yield block, stored.tell() - position
            position = stored.tell()
        if rest:
            yield rest, stored.tell() - position


def count_bytes(path):
    """Returns the number of bytes of a file after decompression.

    Raises the errors of `read_blocks`.
    """
    with add_path_to_errors(path):
        if not is_compressed(path):
            return files.at(path).size()
        with _open(path) as (_, text):
            text.seek(0)
            return sum(map(len, iter(lambda: text.read(BLOCK_BYTES), b"")))


def is_compressed(path):
    """Returns whether a file is in gzip format, by its content, or should be, by its name."""
    if path.endswith(".gz"):
        return True
    with files.at(path).open() as file:
        return file.read(len(GZIP_START)) == GZIP_START


def compute_digest(path):
    """Computes the SHA-256 of a file, in hexadecimal."""
    with files.at(path).open() as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_blank(line):
    """Returns whether a line, as bytes, is empty or only white space."""
    return not line.decode("utf-8", "ignore").strip()


def drop_garbled(block):
    """Removes the bytes of a block that are not UTF-8, as in the original BERT.

    Returns:
      Tuple `(block, num_garbled)`: bytes without them, and the number of lines that had some.
    """
    decoder = LineDecoder()
    decoder(block)
    if not decoder.num_garbled:
        return block, 0
    decoder = LineDecoder()
    return b"\n".join(decoder(line).encode() for line in block.split(b"\n")), decoder.num_garbled


@contextlib.contextmanager
def _open(path):
    """A context with the open file, and the file of its text.

    They are the same unless the file is compressed. A thread keeps its last .gz file open, so that
    the parts of one, read in order, decompress it once.
    """
    entry = files.at(path)
    if not is_compressed(path):
        with entry.open() as file:
            yield file, file
        return
    key = entry.absolute(), entry.modified_ns(), entry.size()
    if getattr(_opened, "key", None) != key:
        _opened.key = None
        stored = entry.open()
        _opened.files = stored, gzip.GzipFile(fileobj=stored)
        _opened.key = key
    yield _opened.files


@contextlib.contextmanager
def add_path_to_errors(path):
    """Adds the path of a file to errors of reading and decompressing it in a context."""
    try:
        yield
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"{path}: is corrupted or not a gzip file: {error}") from error
    except OSError as error:
        if error.strerror is None:  # From a remote file, whose message already has the path.
            raise
        raise OSError(f"{path}: cannot be read: {error.strerror}") from error
