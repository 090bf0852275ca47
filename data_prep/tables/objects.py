"""Objects with named values: JSON lines, a JSON array of objects, and Parquet.

An object is a dict of a key to a JSON value. Objects are read one at a time: a file of any size is
never in memory as objects.
"""

import codecs
import datetime
import json
import re

from bert_tf import files
from bert_tf.errors import InputError

BATCH_ROWS = 1024  # Rows of Parquet in memory together.
CHUNK_BYTES = 1 << 20
MAX_RECORD_CHARACTERS = 1 << 28

_ARRAY_START = re.compile(r"\s*\[\s*(\{|\]\s*\Z)")
_WHITE_SPACE = re.compile(r"[\s,]*")


def is_json_array(sample):
    """Returns whether a file that begins with this str is a JSON array of objects."""
    return _ARRAY_START.match(sample) is not None


def is_json_lines(sample):
    """Returns whether the first line with text in this str is a JSON object."""
    line = next(filter(None, map(str.strip, sample.split("\n"))), "")
    return line.startswith("{") and isinstance(parse_object(line), dict)


def parse_object(line):
    """Returns the dict of a line with a JSON object, or None."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def read_json_lines(lines, path):
    """Yields (line number, dict) of lines with a JSON object each, without empty lines.

    Raises:
      InputError: If a line is not a JSON object. The message names the file and the line.
    """
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        entry = parse_object(line)
        if entry is None:
            raise InputError(f"{path}:{number}: must be a JSON object")
        yield number, entry


def read_json_array(file, path):
    """Yields (number, dict) of the objects of a JSON array, from 1. `file`: Open binary file.

    Raises:
      InputError: If the file is not JSON, or an element is not an object. The message names the
        file and the element.
    """
    decode = codecs.getincrementaldecoder("utf-8-sig")(errors="ignore").decode
    scan = json.JSONDecoder().raw_decode
    text = decode(file.read(CHUNK_BYTES))
    position = text.index("[") + 1
    number = 1
    is_at_end = False
    while True:
        position = _WHITE_SPACE.match(text, position).end()
        try:
            if text.startswith("]", position):
                return
            entry, position = scan(text, position)
        except (ValueError, RecursionError) as error:
            chunk = file.read(max(CHUNK_BYTES, len(text) - position))
            is_at_end = not chunk
            if is_at_end or len(text) - position > MAX_RECORD_CHARACTERS:
                raise InputError(
                    f"{path}: element {number} is not a JSON object: {error}"
                ) from None
            text = text[position:] + decode(chunk)
            position = 0
            continue
        if not isinstance(entry, dict):
            raise InputError(f"{path}: element {number} is {entry!r:.60}; must be a JSON object")
        yield number, entry
        number += 1


def read_parquet(file, path):
    """Yields (number, dict) of the rows of a Parquet file, from 1. `file`: Open binary file.

    Integers that the `datasets` library stores for names of classes become these names.

    Raises:
      InputError: If pyarrow is not installed, or if the file is corrupted.
    """
    try:
        from pyarrow import ArrowException, parquet
    except ImportError as error:
        raise InputError(
            f"{path}: is a Parquet file, which requires: pip install 'bert-tf[parquet]'"
        ) from error
    number = 1
    try:
        table = parquet.ParquetFile(file)
        class_names = _read_class_names(table.schema_arrow.metadata)
        for batch in table.iter_batches(BATCH_ROWS, use_threads=False):
            for entry in batch.to_pylist():
                for key, names in class_names.items():
                    entry[key] = _name_classes(entry[key], names)
                yield number, {key: _to_json_value(value) for key, value in entry.items()}
                number += 1
    except (ArrowException, OSError) as error:
        raise InputError(f"{path}: is a corrupted Parquet file: {error}") from error


def _read_class_names(metadata):
    """Returns dict of a column to the names of its classes, from the metadata of `datasets`."""
    try:
        features = json.loads(metadata[b"huggingface"])["info"]["features"]
    except (KeyError, TypeError, ValueError):
        return {}
    class_names = {}
    for column, feature in features.items():
        while isinstance(feature, dict) and "feature" in feature:  # A list of classes.
            feature = feature["feature"]
        if isinstance(feature, list) and feature:
            feature = feature[0]
        if isinstance(feature, dict) and feature.get("_type") == "ClassLabel":
            class_names[column] = feature.get("names") or []
    return class_names


def _name_classes(value, names):
    if isinstance(value, list):
        return [_name_classes(item, names) for item in value]
    is_class = isinstance(value, int) and 0 <= value < len(names)
    return names[value] if is_class else value


def _to_json_value(value):
    """Converts a value of pyarrow to one that JSON can represent."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "ignore")
    if isinstance(value, list):
        return [_to_json_value(item) for item in value]
    if isinstance(value, dict):
        return {key: _to_json_value(item) for key, item in value.items()}
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return str(value)


def list_texts(value):
    """Returns a list of the strings in a JSON value, at any depth; keys are not included."""
    if isinstance(value, str):
        return [files.replace_surrogates(value)]
    if not isinstance(value, list | dict):
        return []
    items = value.values() if isinstance(value, dict) else value
    return [text for item in items for text in list_texts(item)]


def to_text(value):
    """Returns the text of a JSON value: a string itself, "" for null, and others as in JSON."""
    if isinstance(value, str):
        return files.replace_surrogates(value)
    if value is None:
        return ""
    return files.replace_surrogates(json.dumps(value, ensure_ascii=False))
