"""The job of run.nearest: the lines of a file nearest to a query, by the cosine of their pooled embeddings."""

import sys
import zipfile

import numpy as np
from tqdm import tqdm

from bert_tf import files
from bert_tf.errors import InputError
from run.inference import extraction, terminal

LEAST_NORM = 1e-12  # Lower bound for the norm of an embedding.


def run(settings):
    """Reads the lines, and prints the nearest to each query.

    Args:
      settings: NearestSettings, resolved.

    Raises:
      InputError: See Extractor. Also if a file has no lines, or if embeddings do not match the lines or are not finite.
    """
    config, decoder = settings.model.config, files.LineDecoder()
    lines = list(extraction.read_texts(settings.input_file, decoder))
    if not lines:
        raise InputError(f"`input_file`={settings.input_file}: contains no lines")
    decoder.tell(settings.input_file)
    stored = _read(settings, len(lines), config.hidden_size) if settings.vectors else None
    extractor = extraction.Extractor(settings, config, [settings.layer])
    vectors = _embed(extractor, lines, settings, "lines") if stored is None else stored
    if not np.isfinite(vectors).all():
        path = settings.model.init_checkpoint
        raise InputError("computes embeddings with NaN or infinity", "init_checkpoint", path)
    units = _normalize(vectors)
    for query in settings.query or terminal.lines():
        pair = extraction.PAIR.fullmatch(query.strip())
        query_vectors = _embed(extractor, [pair.groups() if pair else (query.strip(), "")], settings)
        cosines = (units @ _normalize(query_vectors)[0]).astype(np.float64)
        print(query)
        for place in np.argsort(-cosines, kind="stable")[: settings.top_k]:
            print(f"  {cosines[place]:6.3f}  {place + 1:>6}  {' ||| '.join(filter(None, lines[place]))}", flush=True)
    if str(extractor.truncation):
        print(f"note: {extractor.truncation}", file=sys.stderr)


def _embed(extractor, texts, settings, description=None):
    """Returns float32 [n, H], the pooled embedding of each text."""
    rows = extractor(texts)
    if description:
        rows = tqdm(rows, desc=description, total=len(texts), unit="line", dynamic_ncols=True)
    return np.stack([extraction.pool(*row, settings.pooling)[1][0, 0] for row in rows])


def _normalize(vectors):
    """Normalizes embeddings, float32 [n, H], to length 1."""
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), LEAST_NORM)


def _read(settings, num_lines, width):
    """Reads float32 [n, H] from a file of extract_features; raises InputError unless it has one row per line."""
    path = settings.vectors
    try:
        with files.at(path).local_copy() as local, np.load(local, allow_pickle=False) as arrays:
            vectors, layers = arrays["vectors"], arrays["layers"].tolist()
        if vectors.dtype.kind != "f" or vectors.ndim != 3 or len(layers) != vectors.shape[1]:
            raise ValueError(f"contains {vectors.dtype} {list(vectors.shape)} of the layers {layers}")
    except (ValueError, KeyError, EOFError, OSError, TypeError, zipfile.BadZipFile) as error:  # TypeError: one array.
        raise InputError(f"`vectors`={path}: is not a .npz file of extract_features: {error}") from error
    if settings.layer not in layers:
        raise InputError(f"`layer`={settings.layer}: {path} contains the layers {', '.join(map(str, layers))}")
    if vectors.shape[0] != num_lines or vectors.shape[2] != width:
        raise InputError(f"`vectors`={path}: contains {vectors.shape[0]:,} embeddings of size {vectors.shape[2]}, but "
                         f"must contain one of size {width} for each of the {num_lines:,} lines; set `pooling` for "
                         "extract_features")
    vectors = vectors[:, layers.index(settings.layer)]
    if not np.isfinite(vectors).all():
        raise InputError("contains NaN or infinity; extract the embeddings again", "vectors", path)
    return vectors
