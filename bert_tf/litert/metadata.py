"""What a .tflite file says of itself beside its graphs: a zip archive at its end, as LiteRT's own metadata is kept.

LiteRT reads a file from its beginning and never sees the archive; `unzip` reads it from its end. It holds
METADATA_FILE and the vocabulary. METADATA_FILE has a checksum of the graphs: LiteRT does not verify them, and a damaged
file can end the process.
"""

import dataclasses
import io
import json
import zipfile
import zlib

from bert_tf.errors import InputError

METADATA_FILE = "bert_tf.json"
VOCABULARY_FILE = "vocab.txt"
MOST_BYTES = 1 << 26  # of either, decompressed
CHECKSUM = "graphs_crc32"  # key in METADATA_FILE; earlier versions did not write it
_BLOCK_BYTES = 1 << 20

# A fixed date, so that the same model makes the same file.
_DATE = (1980, 1, 1, 0, 0, 0)


@dataclasses.dataclass(frozen=True)
class Metadata:
    """How a model's texts become rows of ids, and its numbers answers.

    Attributes:
      kind: of the task, as in task.json.
      max_seq_length: longest row in pieces, [CLS] and [SEP] included.
      lower_case, strip_accents: BertTokenizer's.
      hidden_size: width of the encoder's vectors.
      labels: names in the order of their ids; none of a regression, and of tasks without labels.
      pairs: whether an example of a classifier or encoder is two texts.
      multi_label: whether a text may have several of a classifier's labels.
      top_k: candidates for each [MASK], or answers to a question.
      doc_stride, max_query_length, max_answer_length, max_windows, allow_no_answer, null_score_diff_threshold:
        those of ServedSpanLabeler.
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

    def __post_init__(self):
        object.__setattr__(self, "labels", tuple(self.labels))  # JSON has lists


def append(content, metadata, vocabulary):
    """A .tflite file with Metadata and vocabulary in it.

    Args:
      content: bytes of the file that the converter made.
      metadata: Metadata.
      vocabulary: list of str, the piece of each id.

    Returns:
      bytes.
    """
    stream = io.BytesIO()
    stream.write(content)
    values = {**dataclasses.asdict(metadata), CHECKSUM: zlib.crc32(content)}
    with zipfile.ZipFile(stream, "a") as archive:  # behind what is there; offsets count from the file's beginning
        for name, text in ((METADATA_FILE, json.dumps(values, indent=2, ensure_ascii=False)),
                           (VOCABULARY_FILE, "\n".join(vocabulary) + "\n")):
            archive.writestr(zipfile.ZipInfo(name, _DATE), text.encode(), zipfile.ZIP_DEFLATED)
    return stream.getvalue()


def read(path):
    """Reads the archive of a file, and verifies the checksum of its graphs, if there is one.

    Args:
      path: a local .tflite file.

    Returns:
      (Metadata, list of str: the vocabulary).

    Raises:
      InputError: If the file has no archive, or is damaged.
      OSError: it cannot be read.
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
        raise InputError(f"{path}: is not a LiteRT model that answers text: it must be one that export_saved_model "
                         f"wrote in the format litert ({error})") from error
    if checksum is not None and checksum != _compute_checksum(path, graph_bytes):
        raise InputError(f"{path}: is damaged: its graphs do not match their checksum; copy or export it again")
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
    """The bytes of a file in an archive; ValueError for one that would fill the memory."""
    size = archive.getinfo(name).file_size
    if size > MOST_BYTES:
        raise ValueError(f"{name} has {size:,} bytes, at most {MOST_BYTES:,} are read")
    with archive.open(name) as file:
        return file.read(MOST_BYTES)  # whatever the archive says of its size
