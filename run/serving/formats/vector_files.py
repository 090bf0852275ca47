"""Files of contextual embeddings: JSON lines, NumPy, and TFRecord.

Each writer is a context manager that writes its file atomically and accepts the rows of the input in order:

    with WRITERS["npz"](path, layers=[-1, -2], hidden_size=768) as writer:
        writer.write(["[CLS]", "hello", "[SEP]"], vectors)
"""

import contextlib
import functools
import json
import os
import shutil
import tempfile
import zipfile

import numpy as np
import tensorflow as tf

from bert_tf import files
from bert_tf.errors import InputError
from bert_tf.files import is_remote, new_file
from bert_tf.files.local import convert_write_errors

COPY_BYTES = 1 << 20
PLACES = 1_000_000  # Rounds to multiples of 1 / PLACES.
LARGEST = 32  # json formats larger numbers. Outputs of a layer are normalized.
LEAST_PLAIN = 100  # For fewer millionths, except 0, Python writes an exponent: 9.9e-05.
SEPARATOR = ", "


class _Writer:
    """A file that is renamed when the writer exits, or removed if it exits with an exception.

    Args:
      path: Path of the file, local or remote.
      layers: List of int. Indices of the layers, as they are written.
      hidden_size: int. Size of an embedding, H.
    """

    def __init__(self, path, layers, hidden_size):
        self.num_rows = 0
        self._path, self._layers, self._hidden_size = path, layers, hidden_size
        self._contexts = contextlib.ExitStack()
        self._file = self._contexts.enter_context(self._new_file(path))

    def __enter__(self):
        return self

    def __exit__(self, exception_type, exception, traceback):
        if exception_type is not None:
            with convert_write_errors(self._path):
                self._contexts.__exit__(exception_type, exception, traceback)
            return
        with convert_write_errors(self._path), self._contexts:
            self._write_end()

    def write(self, pieces, vectors):
        """Writes a row. `pieces`: list of str; `vectors`: float32 [tokens, layers, H].

        Raises:
          InputError: If an embedding is not finite.
        """
        if not np.isfinite(vectors).all():
            raise InputError(f"the embeddings of line {self.num_rows + 1} are not finite (NaN or infinity); choose "
                             "another checkpoint, or compute in float32")
        with convert_write_errors(self._path):
            self._write_row(pieces, vectors)
        self.num_rows += 1

    def _new_file(self, path):
        """Returns a context of the open file, which is renamed when the context ends without an error."""
        return new_file(path, "wb")

    def _write_end(self):
        """Writes the end of the file after the last row."""


class JsonLinesWriter(_Writer):
    """One JSON object per line, with the same keys and digits as the original BERT.

    {"linex_index": 0, "features": [{"token": "[CLS]", "layers": [{"index": -1, "values": [0.123456, ...]}]}, ...]}
    """

    def _write_row(self, pieces, vectors):
        numbers = iter(_format_numbers(vectors.reshape(-1, self._hidden_size)))
        features = ", ".join(f'{{"token": {json.dumps(piece)}, "layers": [{self._layers_text(numbers)}]}}'
                             for piece in pieces)
        self._file.write(f'{{"linex_index": {self.num_rows}, "features": [{features}]}}\n'.encode())

    def _layers_text(self, numbers):
        """Formats the layers of one token. `numbers` iterates over the texts of the layers' values."""
        return ", ".join(f'{{"index": {index}, "values": [{next(numbers)}]}}' for index in self._layers)


def _format_numbers(values):
    """Formats each row of values, float32 [n, H], with SEPARATOR between the numbers; list of n str.

    Numbers are rounded to six decimal places, like json.dumps of round(x, 6) but several times faster. Python takes
    longer to format a float than a small model takes to compute it. Here a number is two looked-up strings: its sign
    with all digits up to the third decimal place, then the other three digits.
    """
    # The product of a float32 and a million is exact in float64, so this equals round(x, 6) exactly.
    scaled = np.rint(values.astype(np.float64) * PLACES)
    if not (np.abs(scaled) < LARGEST * PLACES).all():  # Also if one is NaN.
        return [json.dumps(row)[1:-1] for row in (scaled / PLACES).tolist()]
    magnitude = np.abs(scaled).astype(np.int32)
    has_exponent = (magnitude > 0) & (magnitude < LEAST_PLAIN)
    thousands, rest = np.divmod(magnitude, 1000)
    rest[has_exponent] = 0
    strings, starts = _strings()
    first = np.where(rest > 0, starts["longer"], starts["whole"]) + thousands
    first[has_exponent] = starts["exponent"] + magnitude[has_exponent]
    first += np.signbit(scaled) * starts["negative"]
    places = np.stack([first, starts["rest"] + rest], axis=-1).reshape(len(values), -1).tolist()
    return ["".join(map(strings.__getitem__, row))[: -len(SEPARATOR)] for row in places]


@functools.cache
def _strings():
    """Returns the strings that numbers are composed of, and the start index of each kind of them."""
    positive, starts = [], {}
    for kind, kind_strings in (
        ("longer", [f"{number / 1000:.3f}" for number in range(1000 * LARGEST)]),  # Other digits follow.
        ("whole", [repr(number / 1000) for number in range(1000 * LARGEST)]),
        ("exponent", [repr(number / PLACES) for number in range(LEAST_PLAIN)]),
    ):
        starts[kind] = len(positive)
        positive += kind_strings
    starts["negative"] = len(positive)
    starts["rest"] = 2 * len(positive)
    rest = ["", *(f"{number:03}".rstrip("0") for number in range(1, 1000))]
    return [*positive, *(f"-{text}" for text in positive), *(text + SEPARATOR for text in rest)], starts


class NpzWriter(_Writer):
    """One .npz file of four arrays with all rows concatenated.

    vectors: float32 [T, layers, H], where T is the total number of tokens.
    tokens: str [T].
    row_splits: int64 [rows + 1]. Row i is vectors[row_splits[i]:row_splits[i + 1]].
    layers: int64 [layers]. Their indices as requested.

    Embeddings are written immediately to an unnamed file next to the .npz file, or in the local temporary directory if
    that is remote. So the disk contains them twice before the end.
    """

    def __init__(self, path, layers, hidden_size):
        super().__init__(path, layers, hidden_size)
        folder = None if is_remote(path) else os.path.dirname(path) or "."
        self._vectors = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115, closed by __exit__
        self._tokens, self._row_splits = bytearray(), [0]

    def __exit__(self, *exception):
        with convert_write_errors(self._path), self._vectors:
            super().__exit__(*exception)

    def _write_row(self, pieces, vectors):
        self._vectors.write(np.ascontiguousarray(vectors, "<f4").data)
        self._tokens += "".join(f"{piece}\n" for piece in pieces).encode()
        self._row_splits.append(self._row_splits[-1] + len(pieces))

    def _write_end(self):
        shape = (self._row_splits[-1], len(self._layers), self._hidden_size)
        arrays = {"tokens": np.array(self._tokens.decode().split("\n")[:-1], np.str_),
                  "row_splits": np.array(self._row_splits, np.int64), "layers": np.array(self._layers, np.int64)}
        with zipfile.ZipFile(self._file, "w") as archive:
            with archive.open("vectors.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": shape})
                self._vectors.seek(0)
                shutil.copyfileobj(self._vectors, file, COPY_BYTES)
            for name, array in arrays.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                    np.lib.format.write_array(file, array, allow_pickle=False)


class TFRecordWriter(_Writer):
    """One tf.train.Example per row: tokens, bytes [T]; vectors, float [T * layers * H]; linex_index, int64 [1].

    The embeddings are ordered by token, then by layer.
    """

    @contextlib.contextmanager
    def _new_file(self, path):
        with files.at(path).new_local_file() as name, tf.io.TFRecordWriter(name) as writer:
            yield writer

    def _write_row(self, pieces, vectors):
        example = tf.train.Example(features=tf.train.Features(feature={
            "linex_index": tf.train.Feature(int64_list=tf.train.Int64List(value=[self.num_rows])),
            "tokens": tf.train.Feature(bytes_list=tf.train.BytesList(value=[piece.encode() for piece in pieces])),
            "vectors": tf.train.Feature(float_list=tf.train.FloatList(value=vectors.ravel().tolist())),
        }))
        self._file.write(example.SerializeToString())


WRITERS = {"jsonl": JsonLinesWriter, "npz": NpzWriter, "tfrecord": TFRecordWriter}
