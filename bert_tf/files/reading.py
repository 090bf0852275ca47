"""Reads complete files, streams, and JSON, local or remote."""

import codecs
import io
import json
import os
import re
import sys

from bert_tf import notes
from bert_tf.errors import InputError
from bert_tf.files.remote import at

# Half of a surrogate pair: possible in JSON, but not in UTF-8.
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
# Not a character, so it is in no vocabulary: [UNK], like half of a pair in the original.
_STAND_IN = "\U0010ffff"


def read_bytes(path):
    """Returns the content of a file; raises OSError with the path if it cannot be read."""
    entry = at(path)
    with entry.open() as file:
        content = file.read()
    if not content and entry.is_dir():  # the gs:// client reads it as an empty file
        raise IsADirectoryError(f"{os.fsdecode(path)}: cannot be read: is a directory")
    return content


class LineDecoder:
    """Decodes lines of UTF-8 text.

    Invalid bytes are dropped, as in the original, and their lines are counted.

    Attributes:
      num_garbled: int. Number of lines with such bytes.
    """

    def __init__(self):
        self.num_garbled = 0

    def __call__(self, line, is_first=False):
        """Decodes a line of bytes; for the first line of a file, removes a byte-order mark."""
        encoding = "utf-8-sig" if is_first else "utf-8"
        try:
            return line.decode(encoding)
        except UnicodeDecodeError:
            self.num_garbled += 1
            return line.decode(encoding, "ignore")

    def lines(self, file, path):
        """Yields the decoded lines of an open file with their line ends.

        Removes a byte-order mark.

        Raises:
          InputError: See `check_text`.
        """
        for number, line in enumerate(file):
            if not number:
                check_text(line, path)
            yield self(line, not number)

    def tell(self, path):
        """Prints a message to standard error if bytes were dropped in lines of a file."""
        if self.num_garbled:
            notes.write_line(f"{path}: {describe_dropped_bytes(self.num_garbled)}")


def open_standard_input():
    """Returns the binary file of standard input.

    Raises InputError if it is closed.
    """
    if sys.stdin is None:
        raise InputError("standard input is closed; set a file, or redirect a file to it")
    return sys.stdin.buffer


def check_text(start, path):
    """Raises InputError if a text file is UTF-16, or if its lines end at \\r.

    Args:
      start: bytes. First line of the file, or the beginning of it.
      path: Path of the file, for the message.
    """
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise InputError(f"{os.fsdecode(path)}: is UTF-16; save the file as UTF-8")
    if b"\n" not in start and b"\r" in start.rstrip(b"\r"):
        raise InputError(
            f"{os.fsdecode(path)}: its lines end at \\r; save the file with line ends \\n"
        )


def describe_dropped_bytes(num_lines):
    """Returns a message about this number of lines with dropped bytes, "" for 0."""
    lines = "1 line contains" if num_lines == 1 else f"{num_lines:,} lines contain"
    return f"{lines} bytes that are not UTF-8, which are ignored" if num_lines else ""


def read_lines(path, decoder):
    """Reads the lines of a text file, a list of str without line ends, \\n or \\r\\n.

    `decoder` is a LineDecoder.
    """
    return [
        line.removesuffix("\n").removesuffix("\r")
        for line in decoder.lines(io.BytesIO(read_bytes(path)), path)
    ]


def read_text(path):
    """Reads a UTF-8 file without its byte-order mark.

    Raises InputError with the path if it is not UTF-8.
    """
    content = read_bytes(path)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # The decoder removes the byte-order mark first.
        number = len(content) - len(error.object) + error.start + 1
        raise InputError(
            f"{os.fsdecode(path)}: byte {number:,} is 0x{error.object[error.start]:02x}, which is "
            "not UTF-8; save the file as UTF-8"
        ) from error


def read_json(path):
    """Reads the value of a JSON file.

    Raises InputError with the path if it is not JSON, or is nested too deeply.
    """
    text = read_text(path)
    try:
        return json.loads(text)
    except ValueError as error:  # JSONDecodeError, or an integer with too many digits for Python
        raise InputError(f"{os.fsdecode(path)}: is not JSON: {error}") from error
    except RecursionError as error:
        raise InputError(f"{os.fsdecode(path)}: the JSON is nested too deeply") from error


def read_json_object(path):
    """Reads the dict of a JSON file; raises InputError with the path if it is not an object."""
    return check_json_object(read_json(path), path)


def check_json_object(value, path):
    """Returns the value of a JSON file; raises InputError with the path if it is not an object."""
    if not isinstance(value, dict):
        raise InputError(
            f"{os.fsdecode(path)}: expected a JSON object, found {type(value).__name__}"
        )
    return value


def replace_surrogates(text):
    """Replaces each half of a surrogate pair, which UTF-8 cannot encode.

    The replacement is a character that is in no vocabulary.
    """
    return text if text.isascii() else _LONE_SURROGATE.sub(_STAND_IN, text)
