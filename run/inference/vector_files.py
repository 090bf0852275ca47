"""Files of contextual embeddings: JSON lines, NumPy, and TFRecord. They are written atomically.

Each of FORMATS is a context manager for the path of a file, a list of the indices of layers, and
the hidden size H. It yields a function that writes the next row: its 0-based number; list of str,
the tokens; float32 [tokens, layers, H].
"""

import contextlib
import json
import os
import shutil
import tempfile
import zipfile

import numpy as np
import tensorflow as tf

from bert_tf import files
from bert_tf.files import is_remote, new_file
from bert_tf.files.local import convert_write_errors

COPY_BYTES = 1 << 20


@contextlib.contextmanager
def _open_json_lines(path, layers, _):
    """One JSON object per line, with the same keys and digits as the original BERT.

    {"linex_index": 0, "features": [{"token": "[CLS]", "layers": [{"index": -1, "values": [0.123456,
    ...]}]}, ...]}
    """
    with new_file(path, "wb") as file:

        def write_row(number, pieces, vectors):
            """Writes the embeddings [T, layers, H] of the tokens of a row."""
            # The product of a float32 and a million is exact in float64, so this equals Python's
            # round(x, 6).
            rounded = np.rint(vectors.astype(np.float64) * 1e6) / 1e6
            features = [
                {
                    "token": piece,
                    "layers": [
                        {"index": index, "values": values}
                        for index, values in zip(layers, rows, strict=True)
                    ],
                }
                for piece, rows in zip(pieces, rounded.tolist(), strict=True)
            ]
            file.write(f"{json.dumps({'linex_index': number, 'features': features})}\n".encode())

        yield write_row


@contextlib.contextmanager
def _open_npz(path, layers, hidden_size):
    """One .npz file of four arrays with all rows concatenated.

    vectors: float32 [T, layers, H], where T is the total number of tokens.
    tokens: str [T].
    row_splits: int64 [rows + 1]. Row i is vectors[row_splits[i]:row_splits[i + 1]].
    layers: int64 [layers]. Their indices as requested.

    Embeddings are written immediately to an unnamed file next to the .npz file, or in the local
    temporary directory if that is remote. So the disk contains them twice before the end.
    """
    folder = None if is_remote(path) else os.path.dirname(path) or "."
    tokens = bytearray()
    row_splits = [0]
    with (
        tempfile.TemporaryFile(dir=folder, buffering=0) as vectors_file,
        new_file(path, "wb") as file,
    ):

        def write_row(_, pieces, vectors):
            _write_all(vectors_file, np.ascontiguousarray(vectors, "<f4"), path)
            tokens.extend("".join(f"{piece}\n" for piece in pieces).encode())
            row_splits.append(row_splits[-1] + len(pieces))

        yield write_row
        shape = (row_splits[-1], len(layers), hidden_size)
        arrays = {
            "tokens": np.array(tokens.decode().split("\n")[:-1], np.str_),
            "row_splits": np.array(row_splits, np.int64),
            "layers": np.array(layers, np.int64),
        }
        with zipfile.ZipFile(file, "w") as archive:
            with archive.open("vectors.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array_header_1_0(
                    member, {"descr": "<f4", "fortran_order": False, "shape": shape}
                )
                vectors_file.seek(0)
                shutil.copyfileobj(vectors_file, member, COPY_BYTES)
            for name, array in arrays.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, array, allow_pickle=False)


def _write_all(file, array, path):
    """Writes an array to an unbuffered file; an error, such as a full disk, names `path`."""
    rest = memoryview(array).cast("B")
    with convert_write_errors(path):
        while rest:
            rest = rest[file.write(rest) :]


@contextlib.contextmanager
def _open_tfrecord(path, *_):
    """One tf.train.Example per row: tokens, bytes [T].

    Vectors, float [T * layers * H]; linex_index, int64 [1].

    The embeddings are ordered by token, then by layer.
    """
    with files.at(path).new_local_file() as name, tf.io.TFRecordWriter(name) as writer:

        def write_row(number, pieces, vectors):
            """Writes the embeddings [T, layers, H] of the tokens of a row."""
            writer.write(
                tf.train.Example(
                    features=tf.train.Features(
                        feature={
                            "linex_index": tf.train.Feature(
                                int64_list=tf.train.Int64List(value=[number])
                            ),
                            "tokens": tf.train.Feature(
                                bytes_list=tf.train.BytesList(
                                    value=[piece.encode() for piece in pieces]
                                )
                            ),
                            "vectors": tf.train.Feature(
                                float_list=tf.train.FloatList(value=vectors.ravel().tolist())
                            ),
                        }
                    )
                ).SerializeToString()
            )

        yield write_row


FORMATS = {"jsonl": _open_json_lines, "npz": _open_npz, "tfrecord": _open_tfrecord}
