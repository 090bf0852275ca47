"""The metadata of a .tflite file: a zip archive at its end, like LiteRT's own metadata.

LiteRT reads a file from its beginning and ignores the archive; `unzip` reads it from its end. It
contains the task.json of the model, the vocabulary, and a checksum of the graphs: LiteRT does not
verify them, and a damaged file can end the process.
"""

import io
import json
import zipfile
import zlib

import numpy as np

from bert_tf.errors import InputError
from bert_tf.serving.description import ModelDescription
from bert_tf.tasks.metadata import TASK_FILE, TaskMetadata
from bert_tf.tokenization.token_files import (
    DECODER,
    TOKENIZER_CONFIG_NAME,
    parse_added_tokens,
    to_decoder,
)
from bert_tf.tokenization.vocabulary import VOCABULARY_NAME

CHECKSUM_FILE = "graphs.crc32"

# A fixed date, so that the same model produces the same file.
_DATE = (1980, 1, 1, 0, 0, 0)


def append(content, metadata, vocabulary, added_tokens=(), other_files=None):
    """Appends the metadata of a model to the bytes of a .tflite file.

    Args:
      content: bytes. Content of the file.
      metadata: TaskMetadata.
      vocabulary: List of str, without the added tokens.
      added_tokens: AddedTokens.
      other_files: Dict of the name of a file -> its text, for MediaPipe, which cannot read
        compressed files: the archive is not compressed then. None for no other reader.

    Returns:
      bytes. The new content of the file.
    """
    stream = io.BytesIO()
    stream.write(content)
    # Mode "a" appends an archive whose offsets are relative to the beginning of the file.
    with zipfile.ZipFile(stream, "a") as archive:
        members = {
            TASK_FILE: metadata.to_json(),
            CHECKSUM_FILE: str(zlib.crc32(content)),
            VOCABULARY_NAME: "\n".join(vocabulary) + "\n",
        }
        if added_tokens:
            members[TOKENIZER_CONFIG_NAME] = json.dumps({DECODER: to_decoder(added_tokens)})
        compression = zipfile.ZIP_DEFLATED if other_files is None else zipfile.ZIP_STORED
        for name, text in (members | (other_files or {})).items():
            archive.writestr(zipfile.ZipInfo(name, _DATE), text.encode(), compression)
    return stream.getvalue()


def read(path):
    """Reads the data that `append` added to a local file, and verifies the checksum of the graphs.

    Returns:
      ModelDescription.

    Raises:
      InputError: If the file does not have any, or is damaged.
      OSError: If it cannot be read.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            values = json.loads(archive.read(TASK_FILE))
            checksum = int(archive.read(CHECKSUM_FILE))
            vocabulary = archive.read(VOCABULARY_NAME).decode().split("\n")[:-1]
            tokenizer = {}
            if TOKENIZER_CONFIG_NAME in archive.namelist():
                tokenizer = json.loads(archive.read(TOKENIZER_CONFIG_NAME))
            graph_bytes = min(entry.header_offset for entry in archive.infolist())
    except (
        zipfile.BadZipFile,
        zlib.error,
        NotImplementedError,
        KeyError,
        TypeError,
        ValueError,
    ) as error:
        raise InputError(
            f"{path}: is not a LiteRT model with text inputs; create one with export_saved_model "
            f"and `format`=litert ({error})"
        ) from error
    if checksum != zlib.crc32(np.memmap(path, np.uint8, "r")[:graph_bytes]):
        raise InputError(
            f"{path}: is corrupted: its graphs do not match their checksum; copy or export it again"
        )
    return ModelDescription(
        TaskMetadata.from_dict(values, f"{path}, {TASK_FILE}"),
        vocabulary,
        parse_added_tokens({TOKENIZER_CONFIG_NAME: tokenizer}, lambda: vocabulary),
    )
