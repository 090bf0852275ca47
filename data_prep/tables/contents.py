"""Opens files of lines or rows: decompresses them, and rejects files that are not text."""

import contextlib
import gzip
import io
import json
import os
from typing import NamedTuple

from bert_tf import files
from bert_tf.errors import InputError
from data_prep.binary_formats import PARQUET_START, check_is_text_format
from data_prep.reading import GZIP_START, add_path_to_errors

STANDARD_INPUT = "-"
SAMPLE_BYTES = 1 << 20  # Read first, to find the format of a file.


class Content(NamedTuple):
    """An open file after decompression.

    Attributes:
      file: Binary file at the first byte, with `readline`. Seekable if it is not compressed.
      sample: bytes. The beginning of the content, up to SAMPLE_BYTES.
      is_complete: bool. Whether the sample is the complete content.
    """

    file: io.BufferedIOBase
    sample: bytes
    is_complete: bool

    @property
    def is_parquet(self):
        """Returns whether the file is in Parquet format."""
        return self.sample.startswith(PARQUET_START)


class _Rejoined(io.RawIOBase):
    """A binary stream of a sample that was read, and the rest of its file."""

    def __init__(self, sample, file):
        self._sample = io.BytesIO(sample)
        self._file = file

    def readable(self):
        return True

    def readinto(self, buffer):
        data = self._sample.read(len(buffer)) or self._file.read1(len(buffer))
        buffer[: len(data)] = data
        return len(data)


@contextlib.contextmanager
def open_content(path):
    """Provides the Content of a file, decompressed if it is gzip, whatever its name.

    Args:
      path: Path of the file; - for standard input.

    Raises:
      InputError: If the file is missing, is damaged, or has a format that is not read; see
        data_prep.binary_formats. The message says what the file is.
      OSError: If it cannot be read.
    """
    with contextlib.ExitStack() as stack:
        stack.enter_context(add_path_to_errors(path))
        if path == STANDARD_INPUT:
            file = files.open_standard_input()
            sample = file.read1(SAMPLE_BYTES)
            is_seekable = False
        else:
            if not files.at(path).is_file():
                raise InputError(f"{path}: does not exist or is not a file")
            file = stack.enter_context(files.at(path).open())
            is_seekable = not _read_start(file).startswith(GZIP_START)
            if not is_seekable:
                file = stack.enter_context(gzip.GzipFile(fileobj=file))
            sample = file.read(SAMPLE_BYTES)
        _check_sample(path, sample)
        if is_seekable:
            file.seek(0)
        else:
            file = io.BufferedReader(_Rejoined(sample, file), SAMPLE_BYTES)
        yield Content(file, sample, path != STANDARD_INPUT and len(sample) < SAMPLE_BYTES)


def read_table_lines(path, decoder):
    """Yields the lines of a file with their ends.

    Lines end only at \\n: texts may contain other line ends of Python.

    Args:
      path: Path of the file, which can be compressed with gzip; - for standard input.
      decoder: bert_tf.files.LineDecoder, which drops invalid UTF-8 bytes and counts their lines.

    Raises:
      InputError: If the file is missing or is not text. The message names the file.
    """
    with open_content(path) as content:
        check_is_text(path, content)
        yield from decoder.lines(content.file, path)


def read_json_value(path):
    """Reads the value of a JSON file, which can be compressed with gzip.

    Raises InputError with the path if it is not JSON.
    """
    with open_content(path) as content:
        check_is_text(path, content)
        text = content.file.read()
    try:
        return json.loads(text.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return files.read_text(path)  # Raises the error with the byte.
    except ValueError as error:
        raise InputError(f"{path}: is not JSON: {error}") from error
    except RecursionError as error:
        raise InputError(f"{path}: the JSON is nested too deeply") from error


def check_is_text(path, content):
    """Raises InputError if the Content of a file of lines is Parquet."""
    if content.is_parquet:
        raise InputError(f"{path}: is a Parquet file, but must be text")


def strip_suffix(path):
    """Returns the lowercase name of a file without .gz."""
    return os.path.basename(path).lower().removesuffix(".gz")


def _read_start(file):
    start = file.read(len(GZIP_START))
    file.seek(0)
    return start


def _check_sample(path, sample):
    if sample.startswith(PARQUET_START):
        return
    check_is_text_format(path, sample)
    files.check_text(sample[: sample.find(b"\n") + 1 or None], path)
    if b"\0" in sample[:4096]:
        raise InputError(f"{path}: is not a text file: it contains bytes of value 0")
