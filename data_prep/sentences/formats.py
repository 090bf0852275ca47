"""Formats of raw text: plain text, JSON lines, and the documents of WikiExtractor.

A file ends its last document. Bytes that are not UTF-8 are dropped, as in the input of records.
"""

import io
import json

from bert_tf.errors import InputError
from bert_tf.files import replace_surrogates
from data_prep.reading import read_blocks

FORMATS = ("text", "json", "doc")
BEGIN = "<doc "
END = "</doc>"


def detect_format(path):
    """Detects the format of a file from its first line that is not blank.

    Args:
      path: Path of the file. May be .gz.

    Returns:
      "text", "json", or "doc"; "text" for a file without text.

    Raises:
      InputError: If a .gz file is damaged.
      OSError: If the file cannot be read.
    """
    lines = (
        line.decode("utf-8-sig", "ignore").strip()
        for block, _ in read_blocks(path)
        for line in io.BytesIO(block)
    )
    line = next(filter(None, lines), "")
    if line.startswith(BEGIN) and line.endswith(">"):
        return "doc"
    return "json" if line.startswith("{") and isinstance(_parse(line), dict) else "text"


def read_paragraphs(lines, text_format, path, decoder):
    """Reads the paragraphs of a file.

    Args:
      lines: Iterable of the lines, as bytes.
      text_format: One of FORMATS.
      path: Path of the file, for messages.
      decoder: LineDecoder.

    Yields:
      str. A paragraph, with single spaces as white space; empty at the end of a document and
      between documents.

    Raises:
      InputError: If a line of a JSON file is not an object with a text.
    """
    position = 0
    header = ""  # The line with <doc ...>, until the first paragraph.
    for content in lines:
        line = decoder(content, is_first=not position)
        paragraphs = [line]
        if text_format == "json":
            paragraphs = _read_json_line(line, position, path)
        elif text_format == "doc":
            paragraphs, header = _read_doc_line(line.strip(), header)
        for paragraph in paragraphs:
            yield " ".join(paragraph.split())
        position += len(content)
    yield ""


def _read_json_line(line, position, path):
    """Returns the paragraphs of the document in a JSON line, and an empty one, a list.

    The list is empty for a blank line.
    """
    if not line.strip():
        return []
    content = _parse(line)
    text = content.get("text") if isinstance(content, dict) else None
    if not isinstance(text, str):
        raise InputError(
            f"{path}: the line from byte {position:,} is not a JSON object with a string for the "
            "key text; correct it, rename the key of the text, or set `format`=text"
        )
    return [*_unescape(replace_surrogates(text)).split("\n"), ""]


def _read_doc_line(line, header):
    """Reads a line of WikiExtractor's documents.

    Returns:
      Tuple `(paragraphs, header)`: list of the paragraphs without tags and title; the next header.
    """
    if line.startswith(BEGIN) and line.endswith(">"):
        return [""], line
    if line == END:
        return [""], header
    if not line:
        return [], header
    is_title = f' title="{line}"' in header
    return [] if is_title else [_unescape(line)], ""


def _parse(line):
    """Returns the value of a JSON line, or None."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _unescape(text):
    """Replaces the entities with which WikiExtractor escapes text."""
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
