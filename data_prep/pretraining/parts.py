"""Division of a text into parts of about equal size that share no document, one per shard."""

import dataclasses
import io
import itertools
import os

from bert_tf.errors import InputError
from data_prep.reading import count_bytes, is_blank, read_blocks

SCAN_BYTES = 1 << 14  # Bytes read together in the search for the end of a document.
# As in the original BERT, a file must end with a blank line to end its last document.
REQUIREMENT = "input files must have one sentence per line and a blank line after each document"
FEWER_SHARDS = "decrease `num_output_shards` or increase `max_shard_mb`"


@dataclasses.dataclass(frozen=True)
class FileRange:
    """Bytes start to stop - 1 of a file, after decompression; complete lines."""

    path: str
    start: int
    stop: int


def plan_parts(paths, num_parts=1, max_bytes=0):
    """Divides files into parts.

    Part k of N, 0-based, ends before the first document after (k + 1) / N of all bytes.

    Plain files are read only around the ends of parts. Each .gz file is decompressed once to learn
    its size, and again if a part ends inside it.

    Args:
      paths: List of paths of text files, in order.
      num_parts: int. Minimum number of parts.
      max_bytes: int. Maximum bytes of text per part, except the rest of its last document;
        increases the number of parts if required. 0 for no limit.

    Returns:
      List of tuples of FileRange: ranges of consecutive files that form complete documents.

    Raises:
      InputError: If there are too few documents, no document ends within max_bytes, or a .gz file
        is damaged.
      OSError: If a file cannot be read.
    """
    sizes = [count_bytes(path) for path in paths]
    total = sum(sizes)
    if not total and num_parts > 1:
        raise create_empty_error(",".join(paths))
    if max_bytes:
        num_parts = max(num_parts, -(-total // max_bytes))
    ends = [0]
    for k in range(1, num_parts):
        start = max(total * k // num_parts, ends[-1] + 1) - 1
        end = start + _count_bytes_to_next_document(_select(paths, sizes, start, total), max_bytes)
        if end >= total:
            raise InputError(
                f"{total:,} bytes of text cannot be split into {num_parts} shards: too few "
                f"documents; {FEWER_SHARDS}"
            )
        ends.append(end)
    return [
        _select(paths, sizes, start, stop) for start, stop in itertools.pairwise([*ends, total])
    ]


def read_part(part):
    """Yields the text of a part in blocks of complete lines.

    The last line of a file can lack its line end.
    """
    for text in part:
        for block, _ in read_blocks(text.path, text.start, text.stop):
            yield block


def shard_file(path, index, num_shards):
    """Returns the path of a shard: out.tfrecord -> out-00000-of-00012.tfrecord.

    If there is only one shard, returns `path`.
    """
    if num_shards == 1:
        return path
    stem, extension = os.path.splitext(path)
    return f"{stem}-{index:05}-of-{num_shards:05}{extension}"


def create_empty_error(input_file):
    """Creates the InputError for text files without a sentence; `input_file`: str, the setting."""
    return InputError(f"no sentence in {input_file}; {REQUIREMENT}")


def _select(paths, sizes, start, stop):
    """Returns bytes start to stop - 1 of the concatenated files, as a tuple of FileRange."""
    ranges = []
    file_start = 0
    for path, size in zip(paths, sizes, strict=True):
        first = max(start - file_start, 0)
        last = min(stop - file_start, size)
        if first < last:
            ranges.append(FileRange(path, first, last))
        file_start += size
    return tuple(ranges)


def _count_bytes_to_next_document(part, max_bytes):
    """Returns the number of bytes of a part before its first document.

    The part begins within a line, and the document after that line.
    """
    position = 0
    for number, (path, line) in enumerate(_read_lines(part)):
        position += len(line)
        # The rest of a line cannot end a document, because its beginning may contain a sentence.
        if not number:
            continue
        if is_blank(line):
            break
        if max_bytes and position > max_bytes:
            raise InputError(
                f"{path}: contains no end of a document in {position:,} bytes; {REQUIREMENT}; to "
                "keep the complete text in memory, set `max_shard_mb`=0"
            )
    return position


def _read_lines(part):
    """Yields (path, line) for the lines of a part, with their line ends."""
    for text in part:
        for block, _ in read_blocks(text.path, text.start, text.stop, SCAN_BYTES):
            for line in io.BytesIO(block):  # Unlike bytes.splitlines, ends lines only at \n.
                yield text.path, line
