"""Files of contextual vectors: JSON lines as the original's extract_features.py writes them, NumPy, TFRecord, and a
folder for TensorBoard's projector.

Each writer is a context manager whose file appears under its name only when it is whole, and takes the rows of the
input in order:

    with WRITERS["npz"](path, layers=[-1, -2], hidden_size=768) as writer:
        writer.write(["[CLS]", "hello", "[SEP]"], vectors)
"""

import contextlib
import json
import os
import shutil
import tempfile
import zipfile

import numpy as np
import tensorflow as tf

from bert_tf.files import is_remote, new_file, new_files, new_local_file
from run.inference.formats import json_numbers

COPY_BYTES = 1 << 20
TENSORS_FILE, METADATA_FILE = "tensors_{}.tsv", "metadata.tsv"
PROJECTOR_FILE = "projector_config.pbtxt"  # TensorBoard looks for this name


class _Writer:
    """A file that gets its name when the writer is left, and is removed when it is left by an exception.

    Args:
      path: of the file, local or remote.
      layers: indexes of the layers, list of int, as they are written.
      hidden_size: width of a vector, H.
    """

    def __init__(self, path, layers, hidden_size):
        self.num_rows = 0
        self._layers, self._hidden_size = layers, hidden_size
        self._contexts = contextlib.ExitStack()
        self._file = self._contexts.enter_context(self._new_file(path))

    def __enter__(self):
        return self

    def __exit__(self, exception_type, exception, traceback):
        if exception_type is not None:
            self._contexts.__exit__(exception_type, exception, traceback)
            return
        with self._contexts:
            self._write_end()

    def write(self, pieces, vectors, text=""):
        """Writes a row. `pieces`: list of str; `vectors`: float32 [pieces, layers, H]; `text`: what they are of."""
        self._text = text
        self._write_row(pieces, vectors)
        self.num_rows += 1

    def _new_file(self, path):
        """A context of the open file, which gets its name when it ends without an error."""
        return new_file(path, "wb")

    def _write_end(self):
        """Writes what comes after the last row."""


class JsonLinesWriter(_Writer):
    """A JSON object a line, key for key and digit for digit the original's.

    {"linex_index": 0, "features": [{"token": "[CLS]", "layers": [{"index": -1, "values": [0.123456, ...]}]}, ...]}
    """

    def _write_row(self, pieces, vectors):
        numbers = iter(json_numbers.texts(vectors.reshape(-1, self._hidden_size)))
        features = ", ".join(f'{{"token": {json.dumps(piece)}, "layers": [{self._layers_text(numbers)}]}}'
                             for piece in pieces)
        self._file.write(f'{{"linex_index": {self.num_rows}, "features": [{features}]}}\n'.encode())

    def _layers_text(self, numbers):
        """The layers of one piece; `numbers` gives the text of the next layer's values."""
        return ", ".join(f'{{"index": {index}, "values": [{next(numbers)}]}}' for index in self._layers)


class NpzWriter(_Writer):
    """One .npz of four arrays, all rows one after another.

    vectors: float32 [T, layers, H], T the pieces of all rows together.
    tokens: str [T].
    row_splits: int64 [rows + 1]; row i is vectors[row_splits[i]:row_splits[i + 1]].
    layers: int64 [layers], their indexes as they were asked for.

    Vectors go to the disk as they come, into an unnamed file beside the .npz, or of a remote one in the local folder of
    temporary files, so that the disk holds them twice before the end.
    """

    def __init__(self, path, layers, hidden_size):
        super().__init__(path, layers, hidden_size)
        folder = None if is_remote(path) else os.path.dirname(path) or "."
        self._vectors = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115, closed by __exit__
        self._tokens, self._row_splits = bytearray(), [0]

    def __exit__(self, *exception):
        with self._vectors:
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
    """A tf.train.Example a row: tokens, bytes [T]; vectors, float [T * layers * H]; linex_index, int64 [1].

    Vectors lie token after token, of each token layer after layer.
    """

    @contextlib.contextmanager
    def _new_file(self, path):
        with new_local_file(path) as name, tf.io.TFRecordWriter(name) as writer:
            yield writer

    def _write_row(self, pieces, vectors):
        example = tf.train.Example(features=tf.train.Features(feature={
            "linex_index": tf.train.Feature(int64_list=tf.train.Int64List(value=[self.num_rows])),
            "tokens": tf.train.Feature(bytes_list=tf.train.BytesList(value=[piece.encode() for piece in pieces])),
            "vectors": tf.train.Feature(float_list=tf.train.FloatList(value=vectors.ravel().tolist())),
        }))
        self._file.write(example.SerializeToString())


class ProjectorWriter(_Writer):
    """A folder that TensorBoard's projector shows: vectors as TSV, a file a layer, and what they are of.

    tensors_LAYER.tsv: a row a vector. metadata.tsv: a row a vector too, the piece, the number of its line from 0, and
    the text; of pooled vectors the text first, since the projector labels points by the first column of words.
    projector_config.pbtxt: names these files. `tensorboard --logdir=FOLDER` finds them there.
    """

    def __init__(self, path, layers, hidden_size):
        super().__init__(path, layers, hidden_size)
        self._tensors = [self._open(TENSORS_FILE.format(layer)) for layer in layers]
        self._metadata = self._open(METADATA_FILE)
        self._columns = ()

    def _open(self, name):
        return self._contexts.enter_context(open(os.path.join(self._file, name), "w", encoding="utf-8", newline="\n"))

    def _new_file(self, path):
        return new_files(path)

    def _write_row(self, pieces, vectors):
        for layer, file in enumerate(self._tensors):
            for values in vectors[:, layer].tolist():
                file.write("\t".join(f"{value:.6g}" for value in values) + "\n")
        text = " ".join(self._text.split())
        if not self.num_rows:
            self._write_header(is_pooled=len(pieces) == 1)  # else [CLS] and [SEP] are there too
        for piece in pieces:
            cells = {"piece": piece, "line": str(self.num_rows), "text": text}
            self._metadata.write("\t".join(cells[name] for name in self._columns) + "\n")

    def _write_header(self, is_pooled=False):
        self._columns = ("text", "line", "piece") if is_pooled else ("piece", "line", "text")
        self._metadata.write("\t".join(self._columns) + "\n")

    def _write_end(self):
        if not self.num_rows:
            self._write_header()
        with open(os.path.join(self._file, PROJECTOR_FILE), "w", encoding="utf-8") as file:
            for layer in self._layers:
                file.write(f'embeddings {{\n  tensor_name: "layer {layer}"\n'
                           f'  tensor_path: "{TENSORS_FILE.format(layer)}"\n  metadata_path: "{METADATA_FILE}"\n}}\n')


WRITERS = {"jsonl": JsonLinesWriter, "npz": NpzWriter, "tfrecord": TFRecordWriter, "projector": ProjectorWriter}
