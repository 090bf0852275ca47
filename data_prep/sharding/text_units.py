"""Division of text files into units: consecutive parts of about equal size that share no document.

A file whose name ends in .gz is decompressed. A TextLayout defines where documents end.
"""

import contextlib
import dataclasses
import gzip
import io
import itertools
import zlib
from collections.abc import Callable

from bert_tf import files
from bert_tf.errors import InputError

BLOCK_BYTES = 1 << 19  # Bytes of text read and tokenized together. Tokenizing larger blocks was not measurably faster.
SCAN_BYTES = 1 << 14  # Bytes read together in the search for the end of a document.
MAX_LINE_BYTES = 1 << 26
FEWER_SHARDS = "decrease `num_output_shards` or increase `max_shard_mb`"


def is_blank(line):
    """Returns whether a line, as bytes, is empty or only white space."""
    return not line.decode("utf-8", "ignore").strip()


@dataclasses.dataclass(frozen=True)
class TextLayout:
    """The ends of documents in text files.

    Attributes:
      ends_document: Callable of the path of a file and a line of it, as bytes: whether the line ends a document.
      ends_with_file: bool. Whether the end of a file ends a document.
      requirement: str. What input files must contain, for messages.
    """

    ends_document: Callable
    ends_with_file: bool
    requirement: str


# Input of records. As in the original BERT, a file must end with a blank line to end its last document.
SENTENCES = TextLayout(lambda path, line: is_blank(line), False,
                       "input files must have one sentence per line and a blank line after each document")


@dataclasses.dataclass(frozen=True)
class FileRange:
    """Bytes start to stop - 1 of a file, after decompression; complete lines."""

    path: str
    start: int
    stop: int


@dataclasses.dataclass(frozen=True)
class Unit:
    """The text of a shard: ranges of consecutive files that form complete documents."""

    ranges: tuple

    @property
    def num_bytes(self):
        """Bytes of text, after decompression."""
        return sum(file_range.stop - file_range.start for file_range in self.ranges)


def plan_units(paths, num_units=1, max_bytes=0, layout=SENTENCES):
    """Divides files into units. Unit k of N, 0-based, ends before the first document after (k + 1) / N of all bytes.

    Plain files are read only around the unit boundaries. Each .gz file is decompressed once to learn its size, and
    again if a boundary falls inside it.

    Args:
      paths: List of paths of text files, in order.
      num_units: int. Minimum number of units.
      max_bytes: int. Maximum bytes of text per unit, except the rest of its last document; increases the number of
        units if required. 0 for no limit.
      layout: TextLayout of the files.

    Returns:
      List of Unit.

    Raises:
      InputError: If there are too few documents, no document ends within max_bytes, or a .gz file is damaged.
      OSError: If a file cannot be read.
    """
    sizes = [_get_text_size(path) for path in paths]
    total = sum(sizes)
    if not total and num_units > 1:
        raise create_empty_error(paths, layout.requirement)
    if max_bytes:
        num_units = max(num_units, -(-total // max_bytes))
    boundaries = [0]
    with TextReader() as reader:
        for k in range(1, num_units):
            after = _create_unit(paths, sizes, max(total * k // num_units, boundaries[-1] + 1) - 1, total)
            boundary = total - after.num_bytes + _count_bytes_to_next_document(
                reader, after, max_bytes, layout)
            if boundary >= total:
                raise InputError(f"{total:,} bytes of text cannot be split into {num_units} shards: too few "
                                 f"documents; {FEWER_SHARDS}")
            boundaries.append(boundary)
    return [_create_unit(paths, sizes, start, stop) for start, stop in itertools.pairwise([*boundaries, total])]


def create_empty_error(paths, requirement=SENTENCES.requirement):
    """Creates the InputError for text files without a sentence; requirement: see TextLayout."""
    return InputError(f"no sentence in {describe_paths(paths)}; {requirement}")


def describe_shard(units, index):
    """Returns the description of the text of a shard for messages."""
    start = units[index].ranges[0]
    return f"shard {index + 1} of {len(units)}, from byte {start.start:,} of {start.path},"


def describe_paths(paths):
    """Returns the description of text files for messages."""
    return paths[0] if len(paths) == 1 else f"{len(paths)} files, beginning with {paths[0]}"


class TextReader:
    """Reads units of text files. A context manager. Reads a .gz file once if its ranges are requested in order."""

    def __init__(self):
        self._path = None
        self._open_files = contextlib.ExitStack()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._open_files.close()

    def read(self, unit, on_progress=None, block_bytes=BLOCK_BYTES):
        """Yields the text of a unit as bytes objects of complete lines, about `block_bytes` each.

        The last line of a file can lack its line end. The next file begins a new block.

        `on_progress`: Callable of the number of bytes yielded since the last call.

        Raises:
          InputError: If a line exceeds MAX_LINE_BYTES, if a .gz file is damaged, or see `files.check_text`.
          OSError: If a file cannot be read.
        """
        for file_range in unit.ranges:
            for number, block in enumerate(self._read_blocks(file_range, block_bytes)):
                if not (number or file_range.start):
                    files.check_text(block, file_range.path)
                yield block
                if on_progress:
                    on_progress(len(block))

    def read_lines(self, unit):
        """Yields (path, line) for the lines of a unit, with their line ends; lines need not be valid UTF-8."""
        for file_range in unit.ranges:
            for block in self._read_blocks(file_range, SCAN_BYTES):
                for line in io.BytesIO(block):  # Unlike bytes.splitlines, ends lines only at \n.
                    yield file_range.path, line

    def _read_blocks(self, file_range, block_bytes):
        with _add_path_to_errors(file_range.path):
            file = self._get_file(file_range.path)
            file.seek(file_range.start)
            remaining, rest = file_range.stop - file_range.start, b""
            while remaining and (fresh := file.read(min(block_bytes, remaining))):
                remaining -= len(fresh)
                end = fresh.rfind(b"\n") + 1
                if not end:
                    rest += fresh
                    if len(rest) > MAX_LINE_BYTES:
                        raise InputError(f"{file_range.path}: contains a line of over {MAX_LINE_BYTES:,} bytes; "
                                         "divide it into shorter lines")
                    continue
                yield rest + fresh[:end]
                rest = fresh[end:]
            if rest:
                yield rest

    def _get_file(self, path):
        if path != self._path:
            self._open_files.close()
            self._path, self._open = path, self._open_files.enter_context(_open(path))
        return self._open


@contextlib.contextmanager
def _open(path):
    with files.at(path).open() as raw:
        if path.endswith(".gz"):
            with gzip.GzipFile(fileobj=raw) as file:
                yield file
        else:
            yield raw


@contextlib.contextmanager
def _add_path_to_errors(path):
    try:
        yield
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"{path}: is corrupted or not a gzip file: {error}") from error
    except OSError as error:
        if error.strerror is None:  # From a remote file, whose message already has the path.
            raise
        raise OSError(f"{path}: cannot be read: {error.strerror}") from error


def _get_text_size(path):
    """Returns the bytes of a file, after decompression."""
    with _add_path_to_errors(path):
        if not path.endswith(".gz"):
            return files.at(path).size()
        with _open(path) as file:
            return sum(map(len, iter(lambda: file.read(BLOCK_BYTES), b"")))


def _create_unit(paths, sizes, start, stop):
    """Returns bytes start to stop - 1 of the concatenated files, as a Unit."""
    ranges, file_start = [], 0
    for path, size in zip(paths, sizes, strict=True):
        first, last = max(start - file_start, 0), min(stop - file_start, size)
        if first < last:
            ranges.append(FileRange(path, first, last))
        file_start += size
    return Unit(tuple(ranges))


def _count_bytes_to_next_document(reader, part, max_bytes, layout):
    """Returns the bytes of a part, which begins within a line, up to the first document that begins after that line."""
    position = 0
    for number, (path, line) in enumerate(reader.read_lines(part)):
        if layout.ends_with_file and path != part.ranges[0].path:
            break
        position += len(line)
        if not number:  # The rest of a line cannot end a document, because its beginning may contain a sentence.
            continue
        if layout.ends_document(path, line):
            break
        if max_bytes and position > max_bytes:
            raise InputError(f"{path}: contains no end of a document in {position:,} bytes; {layout.requirement}; to "
                             "keep the complete text in memory, set `max_shard_mb`=0")
    return position
