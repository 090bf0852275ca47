"""Embeddings from a frozen encoder, saved to disk and read row by row. See run.arrays.stored_rows.

`vectors.json` identifies the encoder and the data. Next to it is one file per computed layer, `layer_N.bin`, float16
[words, H] in the order of the data, which exists only when it is complete.

Shape legend: S tokens, K layers, H hidden size of the encoder.
"""

import contextlib
import hashlib
import json
import os

import numpy as np
import tensorflow as tf

from bert_tf import files
from bert_tf.checkpoints import checkpoint_files, load_pretrained
from bert_tf.cli.run_state import fingerprint
from bert_tf.fast import FastEncoder
from run.arrays.prediction import Predictor
from run.arrays.stored_rows import Entry, StackedRows, StoredRows, find_subfolder
from run.feature_based.settings import EMBEDDINGS_FOLDER
from run.settings.training import DTYPE_POLICIES
from run.training import strategies

DTYPE = np.dtype(np.float16)  # Half the memory, without an effect on classifiers.
METADATA_FILE, LAYER = "vectors.json", "layer_{}"
ENCODER_INPUTS = ("input_ids", "input_mask", "segment_ids")


def compute(settings, strategy, split, features, positions, layers):
    """Computes embeddings, unless they are stored.

    Args:
      settings: FeatureBasedSettings.
      strategy: tf.distribute.Strategy.
      split: str. Name of the data, for messages.
      features: Dict of arrays [rows, S], features of the encoder.
      positions: bool [rows, S]. Whether to store the embedding.
      layers: Layers to compute; 0 is the embeddings of the input.

    Returns:
      Path of their directory.
    """
    config, precision = settings.model.config, settings.mixed_precision
    data = hashlib.sha256()
    for name in ENCODER_INPUTS:
        data.update(np.ascontiguousarray(features[name]).tobytes())
    data.update(positions.tobytes())
    metadata = {"encoder": fingerprint(checkpoint_files(settings.model.init_checkpoint), is_complete=True),
                "config": config.to_dict(), "data": data.hexdigest(), "positions": int(positions.sum()),
                "mixed_precision": precision}
    path = find_subfolder(
        settings.cache_dir or os.path.join(settings.training.output_dir, EMBEDDINGS_FOLDER), metadata)
    layers = find_missing(path, layers)
    if not layers:
        print(f"{path}: reusing the embeddings of the {split} data")
        return path
    removes_padding = strategies.allows_dynamic_shapes(strategy)
    with strategy.scope():
        encoder = FastEncoder(config, strategies.choose_fast(strategy, config, remove_padding=removes_padding),
                              dtype=DTYPE_POLICIES[precision])
        load_pretrained(encoder, settings.model.init_checkpoint)

    def encode(features, training):
        encoded = encoder(features, training=training)
        all_layers = [encoded["embedding_output"], *encoded["encoder_outputs"]]
        return {"layers": tf.cast(tf.stack([all_layers[layer] for layer in layers], axis=2), DTYPE)}

    def parts():
        predictor = Predictor(strategy, encode, static_shapes=not removes_padding, network=encoder)
        for rows, outputs in predictor.predict_batches(
                features, settings.training.eval_batch_size, f"embeddings of the {split} data"):
            length = outputs["layers"].shape[1]
            yield rows, [row_vectors[positions[row, :length]] for row, row_vectors in zip(
                rows, outputs["layers"], strict=True)]  # [positions, K, H] each.

    write(path, metadata, layers, positions.sum(axis=1), config.hidden_size, parts())
    strategies.free_memory(encoder.variables)
    print(f"{path}: saved the embeddings of {metadata['positions']:,} positions of the {split} data")
    return path


def read(folder, layers, lengths, width):
    """Opens the embeddings of rows of words.

    Args:
      folder: Path of the directory. See `write`.
      layers: Tuple of int. Layers to read.
      lengths: int [n]. Words per row, in total the words of the files.
      width: int. H.

    Returns:
      StackedRows, float16 [n, longest row, K, H].

    Raises:
      InputError: If a file is missing or damaged.
    """
    return StackedRows(_make_rows(folder, layers, lengths, width).open("compute the embeddings again"))


def find_missing(folder, layers):
    """Returns the layers among `layers` that a directory lacks, tuple of int."""
    stored = _make_rows(folder, layers, [], 0)
    return tuple(layer for layer in layers if not files.at(stored.get_path(LAYER.format(layer))).exists())


def write(folder, metadata, layers, lengths, width, parts):
    """Writes the embeddings of layers, all of them or none.

    Args:
      folder: Path from `run.arrays.stored_rows.find_subfolder`, created if it does not exist.
      metadata: Dict to save in vectors.json.
      layers: Tuple of int.
      lengths: int [n]. Words per row of the encoder.
      width: int. H.
      parts: Iterable of (row numbers, list of arrays [words, K, H], one per row) that contains every row once.

    Raises:
      InputError: If another process is writing to the directory.
    """
    stored = _make_rows(folder, layers, lengths, width)
    with files.folder_for(folder), files.lock_output("cache_dir", folder), contextlib.ExitStack() as unfinished:
        with files.new_file(os.path.join(folder, METADATA_FILE)) as file:
            json.dump(metadata, file, indent=2)
        paths = {name: unfinished.enter_context(files.at(stored.get_path(name)).new_local_file())
                 for name in stored.entries}
        stored.write(paths, ((rows, {name: [row_vectors[:, number] for row_vectors in vectors]
                                   for number, name in enumerate(paths)}) for rows, vectors in parts))


def _make_rows(folder, layers, lengths, width):
    return StoredRows(folder, {LAYER.format(layer): Entry([-1, width], DTYPE.name) for layer in layers}, lengths)
