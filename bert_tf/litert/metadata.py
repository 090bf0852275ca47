"""The metadata of a .tflite file: a zip archive at its end, like LiteRT's own metadata.

LiteRT reads a file from its beginning and ignores the archive; `unzip` reads it from its end. It contains the task.json
of the model, the vocabulary, and a checksum of the graphs: LiteRT does not verify them, and a damaged file can end the
process.
"""

import io
import json
import zipfile
import zlib

from bert_tf.errors import InputError
from bert_tf.tasks.metadata import TASK_FILE, TaskMetadata

CHECKSUM_FILE = "graphs.crc32"
VOCABULARY_FILE = "vocab.txt"
MOST_BYTES = 1 << 26  # Maximum decompressed size of a file.
_BLOCK_BYTES = 1 << 20

# A fixed date, so that the same model produces the same file.
_DATE = (1980, 1, 1, 0, 0, 0)


def append(content, metadata, vocabulary):
    """Returns the bytes of a .tflite file with the TaskMetadata and the vocabulary, a list of str, of its model."""
    stream = io.BytesIO()
    stream.write(content)
    with zipfile.ZipFile(stream, "a") as archive:  # appends; offsets are relative to the beginning of the file
        for name, text in ((TASK_FILE, metadata.to_json()),
                           (CHECKSUM_FILE, str(zlib.crc32(content))),
                           (VOCABULARY_FILE, "\n".join(vocabulary) + "\n")):
            archive.writestr(zipfile.ZipInfo(name, _DATE), text.encode(), zipfile.ZIP_DEFLATED)
    return stream.getvalue()


def read(path):
    """Reads the data that `append` added to a local file, and verifies the checksum of the graphs.

    Returns:
      Tuple `(metadata, vocabulary)`: TaskMetadata, list of str.

    Raises:
      InputError: If the file does not have any, or is damaged.
      OSError: If it cannot be read.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            values = json.loads(_content(archive, TASK_FILE))
            checksum = int(_content(archive, CHECKSUM_FILE))
            vocabulary = _content(archive, VOCABULARY_FILE).decode().split("\n")[:-1]
            graph_bytes = min(entry.header_offset for entry in archive.infolist())
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RecursionError, KeyError, TypeError,
            ValueError) as error:
        raise InputError(f"{path}: is not a LiteRT model with text inputs; create one with export_saved_model and "
                         f"`format`=litert ({error})") from error
    computed = 0
    with open(path, "rb") as file:
        while block := file.read(min(graph_bytes, _BLOCK_BYTES)):
            computed = zlib.crc32(block, computed)
            graph_bytes -= len(block)
    if checksum != computed:
        raise InputError(f"{path}: is corrupted: its graphs do not match their checksum; copy or export it again")
    return TaskMetadata.from_dict(values, f"{path}, {TASK_FILE}"), vocabulary


def _content(archive, name):
    """Reads a file in an archive; raises ValueError if it would exhaust the memory."""
    size = archive.getinfo(name).file_size
    if size > MOST_BYTES:
        raise ValueError(f"{name} has {size:,} bytes: must be at most {MOST_BYTES:,}")
    with archive.open(name) as file:
        return file.read(MOST_BYTES)  # in case the archive states a wrong size
