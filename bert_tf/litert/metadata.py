"""The metadata of a .tflite file: a zip archive at its end, like LiteRT's own metadata.

LiteRT reads a file from its beginning and ignores the archive; `unzip` reads it from its end. It contains METADATA_FILE
and the vocabulary. METADATA_FILE has a checksum of the graphs: LiteRT does not verify them, and a damaged file can end
the process.
"""

import dataclasses
import io
import json
import zipfile
import zlib

from bert_tf.errors import InputError

METADATA_FILE = "bert_tf.json"
VOCABULARY_FILE = "vocab.txt"
MOST_BYTES = 1 << 26  # Maximum decompressed size of either.
CHECKSUM = "graphs_crc32"  # Key in METADATA_FILE; earlier versions did not write it.
_BLOCK_BYTES = 1 << 20

# A fixed date, so that the same model produces the same file.
_DATE = (1980, 1, 1, 0, 0, 0)


@dataclasses.dataclass(frozen=True)
class Metadata:
    """Settings to convert texts to rows of IDs, and model outputs to predictions.

    Attributes:
      kind: Kind of task, as in task.json.
      max_seq_length: Maximum row length in tokens, including [CLS] and [SEP].
      lower_case, strip_accents: See BertTokenizer.
      hidden_size: Hidden size of the encoder.
      labels: Names in the order of their IDs; empty for regressions and for tasks without labels.
      pairs: Whether an example of a classifier, an encoder, or a masked LM is two texts.
      multi_label: Whether a text can have several of a classifier's labels.
      top_k: Candidates per [MASK], or answers per question.
      next_sentence: Whether a masked LM predicts the next sentence.
      has_pooler: Whether an encoder returns pooled outputs.
      doc_stride, max_query_length, max_answer_length, max_windows, allow_no_answer, null_score_diff_threshold: See
        ServedSpanLabeler.
    """

    kind: str
    max_seq_length: int
    lower_case: bool
    strip_accents: bool
    hidden_size: int
    labels: tuple[str, ...] = ()
    pairs: bool = False
    multi_label: bool = False
    top_k: int = 5
    doc_stride: int = 128
    max_query_length: int = 64
    max_answer_length: int = 30
    max_windows: int = 64
    allow_no_answer: bool = False
    null_score_diff_threshold: float = 0.0
    next_sentence: bool = False
    has_pooler: bool = True

    def __post_init__(self):
        object.__setattr__(self, "labels", tuple(self.labels))  # JSON has lists


def append(content, metadata, vocabulary):
    """Appends Metadata and the vocabulary to a .tflite file.

    Args:
      content: bytes of the file from the converter.
      metadata: Metadata.
      vocabulary: List of str. Token of each ID.

    Returns:
      bytes.
    """
    stream = io.BytesIO()
    stream.write(content)
    values = {**dataclasses.asdict(metadata), CHECKSUM: zlib.crc32(content)}
    with zipfile.ZipFile(stream, "a") as archive:  # appends; offsets are relative to the beginning of the file
        for name, text in ((METADATA_FILE, json.dumps(values, indent=2, ensure_ascii=False)),
                           (VOCABULARY_FILE, "\n".join(vocabulary) + "\n")):
            archive.writestr(zipfile.ZipInfo(name, _DATE), text.encode(), zipfile.ZIP_DEFLATED)
    return stream.getvalue()


def read(path):
    """Reads the data that `append` added to a file, and verifies the checksum of the graphs, if there is one.

    Args:
      path: Local .tflite file.

    Returns:
      Tuple `(metadata, vocabulary)`: Metadata, list of str.

    Raises:
      InputError: If the file does not have any, or is damaged.
      OSError: If it cannot be read.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            values = dict(json.loads(_content(archive, METADATA_FILE)))
            checksum = values.pop(CHECKSUM, None)
            metadata = Metadata(**values)
            vocabulary = _content(archive, VOCABULARY_FILE).decode().split("\n")[:-1]
            graph_bytes = min(entry.header_offset for entry in archive.infolist())
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RecursionError, KeyError, TypeError,
            ValueError) as error:
        raise InputError(f"{path}: is not a LiteRT model with text inputs; create one with export_saved_model and "
                         f"`format`=litert ({error})") from error
    if checksum is not None and checksum != _compute_checksum(path, graph_bytes):
        raise InputError(f"{path}: is corrupted: its graphs do not match their checksum; copy or export it again")
    return metadata, vocabulary


def _compute_checksum(path, size):
    """Returns the CRC-32 of the first `size` bytes of a file."""
    checksum = 0
    with open(path, "rb") as file:
        while block := file.read(min(size, _BLOCK_BYTES)):
            checksum = zlib.crc32(block, checksum)
            size -= len(block)
    return checksum


def _content(archive, name):
    """Reads a file in an archive; raises ValueError if it would exhaust the memory."""
    size = archive.getinfo(name).file_size
    if size > MOST_BYTES:
        raise ValueError(f"{name} has {size:,} bytes: must be at most {MOST_BYTES:,}")
    with archive.open(name) as file:
        return file.read(MOST_BYTES)  # in case the archive states a wrong size
