"""Reading whole files, streams and JSON, local or remote."""

import json
import os
import re
import sys

from bert_tf.errors import InputError
from bert_tf.files.places import is_dir, to_system

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")  # half a pair, which JSON's escapes can hold and UTF-8 cannot
_STAND_IN = "\U0010ffff"  # no character, and so in no vocabulary: [UNK], as half a pair is in the original


def open_bytes(path):
    """Opens a file to read bytes: a file object with seek and tell. Its errors are OSErrors that name it."""
    return to_system(path).open()


def local_copy(path):
    """Returns a context with the path of a local file of the same name and content; a local file is its own.

    For code that can only read local files, such as memory maps, which outlive the copy. Copies are temporary files
    (the environment variable TMPDIR).
    """
    return to_system(path).local_copy()


def read_bytes(path):
    """Returns the content of a file; OSError names it if it cannot be read."""
    with open_bytes(path) as file:
        content = file.read()
    if not content and is_dir(path):  # which the gs:// client reads as an empty file
        raise IsADirectoryError(f"{os.fsdecode(path)}: cannot be read: is a directory")
    return content


class LineDecoder:
    """Makes text of lines in UTF-8. Bytes that are none are dropped, as by the original, and their lines counted.

    Attributes:
      num_garbled: lines that had such bytes.
    """

    def __init__(self):
        self.num_garbled = 0

    def __call__(self, line, is_first=False):
        """The text of a line, bytes; of a file's first line, without a byte-order mark."""
        encoding = "utf-8-sig" if is_first else "utf-8"
        try:
            return line.decode(encoding)
        except UnicodeDecodeError:
            self.num_garbled += 1
            return line.decode(encoding, "ignore")

    def note(self):
        """What there is to say, "" for nothing."""
        return garbled_note(self.num_garbled)

    def tell(self, path):
        """Says on standard error of how many lines of a file bytes were dropped, if of any."""
        if self.num_garbled:
            print(f"{path}: {self.note()}", file=sys.stderr)


def garbled_note(num_lines):
    """What there is to say about so many lines of which bytes were dropped, "" for none."""
    lines = "1 line has" if num_lines == 1 else f"{num_lines:,} lines have"
    return f"{lines} bytes that are not UTF-8, which are left out" if num_lines else ""


def read_lines(path, decoder):
    """The lines of a text file, list of str without line ends, which are \\n or \\r\\n; decoder: LineDecoder."""
    lines = read_bytes(path).split(b"\n")
    if not lines[-1]:
        lines.pop()
    return [decoder(line, not number).removesuffix("\r") for number, line in enumerate(lines)]


def read_text(path):
    """The text of a UTF-8 file, a byte-order mark left out; InputError names a file that is none."""
    content = read_bytes(path)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        number = len(content) - len(error.object) + error.start + 1  # the decoder takes the mark away first
        raise InputError(f"{os.fsdecode(path)}: byte {number:,} is 0x{error.object[error.start]:02x}, which is not "
                         "UTF-8: save the file as UTF-8") from error


def read_json(path, unique_keys=False):
    """The value of a JSON file; InputError names a file that is none, or is nested too deeply to be read.

    With `unique_keys` one is refused that gives an object a key twice: JSON does not say which of the values counts.
    """
    text = read_text(path)

    def object_of(pairs):
        values = dict(pairs)
        if len(values) < len(pairs):
            keys = [key for key, _ in pairs]
            raise InputError(f"{os.fsdecode(path)}: has the key {next(key for key in keys if keys.count(key) > 1)!r} "
                             "twice in an object")
        return values

    try:
        return json.loads(text, object_pairs_hook=object_of if unique_keys else None)
    except InputError:
        raise
    except ValueError as error:  # a JSONDecodeError, or that of an integer of more digits than Python converts
        raise InputError(f"{os.fsdecode(path)}: is not JSON: {error}") from error
    except RecursionError as error:
        raise InputError(f"{os.fsdecode(path)}: its JSON is nested too deeply") from error


def read_json_object(path):
    """The dict of a JSON file that holds an object; InputError names a file that is none, or has a key twice."""
    value = read_json(path, unique_keys=True)
    if not isinstance(value, dict):
        raise InputError(f"{os.fsdecode(path)}: expected a JSON object, found {type(value).__name__}")
    return value


def without_surrogates(text):
    """A text that UTF-8 can encode: a character that is in no vocabulary stands for half a surrogate pair."""
    return text if text.isascii() else _LONE_SURROGATE.sub(_STAND_IN, text)
