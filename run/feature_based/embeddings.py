"""Embeddings from a frozen encoder, saved to disk, and read row by row by `StoredRows`.

There is one file per computed layer, `layer_N.bin`, float16 [words, H] in the order of the data.

Shape legend: B batch, S sequence, LE layers and the embeddings, H hidden.
"""

import hashlib
import os

import numpy as np
import tensorflow as tf

from bert_tf.checkpoints import ModelDirectory, load_pretrained
from bert_tf.cli.run_state import fingerprint
from bert_tf.fast import FastEncoder
from bert_tf.features import FEATURES
from run.feature_based.settings import EMBEDDINGS_FOLDER
from run.training import strategies
from run.training.prediction import Predictor
from run.training.stored_rows import (
    Entry,
    StackedRows,
    StoredRows,
    find_subfolder,
    is_complete,
    write,
)

DTYPE = np.dtype(np.float16)  # Half the memory, without an effect on classifiers.


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
    metadata = _describe(settings, features, positions, layers)
    path = find_subfolder(
        settings.cache_dir or os.path.join(settings.training.output_dir, EMBEDDINGS_FOLDER),
        metadata,
    )
    if is_complete(path):
        print(f"{path}: reusing the embeddings of the {split} data")
        return path
    entries = make_entries(layers, settings.model.config.hidden_size)
    encoder = _load_encoder(settings, strategy)

    def embed(features, training):
        outputs = encoder(features, training=training)
        all_layers = [outputs["embedding_output"], *outputs["encoder_outputs"]]
        return {
            name: tf.cast(all_layers[layer], DTYPE)
            for name, layer in zip(entries, layers, strict=True)
        }

    padding = strategies.choose_padding(strategy)
    predictor = Predictor(strategy, embed, padding=padding, network=encoder)
    batches = predictor.predict_batches(
        features, settings.training.eval_batch_size, f"embeddings of the {split} data"
    )
    parts = ((rows, _select(outputs, rows, positions)) for rows, outputs in batches)
    write(path, metadata, entries, positions.sum(axis=1), parts)
    strategies.free_memory(encoder.variables)
    print(
        f"{path}: saved the embeddings of {metadata['positions']:,} positions of the {split} data"
    )
    return path


def _describe(settings, features, positions, layers):
    """Returns the metadata of embeddings, a dict of JSON values. See `compute`.

    They identify all bytes of the checkpoint, because a sample of them could miss a change.
    """
    data = hashlib.sha256()
    for name in FEATURES:
        data.update(np.ascontiguousarray(features[name]).tobytes())
    data.update(positions.tobytes())
    return {
        "encoder": fingerprint(
            ModelDirectory.open(settings.model.init_checkpoint).weight_files, is_complete=True
        ),
        "config": settings.model.config.to_dict(),
        "data": data.hexdigest(),
        "positions": int(positions.sum()),
        "mixed_precision": settings.precision.mixed_precision,
        "layers": list(layers),
    }


def _load_encoder(settings, strategy):
    """Creates the encoder with the weights of its checkpoint. See `compute`."""
    config = settings.model.config
    with strategy.scope():
        encoder = FastEncoder(
            config,
            strategies.choose_fast(strategy, config, strategies.choose_padding(strategy)),
            dtype=settings.precision.dtype_policy,
        )
        load_pretrained(encoder, settings.model.init_checkpoint)
    return encoder


def _select(outputs, rows, positions):
    """Selects the embeddings to store.

    Args:
      outputs: Dict of name to arrays [B, longest, H].
      rows: int [B]. Numbers of the rows.
      positions: bool [all rows, S]. See `compute`.

    Returns:
      Dict of name to list of B arrays [positions, H].
    """
    return {
        name: [
            vectors[positions[row, : len(vectors)]]
            for row, vectors in zip(rows, values, strict=True)
        ]
        for name, values in outputs.items()
    }


def read(folder, layers, lengths, width):
    """Opens the embeddings of rows of words.

    Args:
      folder: Path from `compute`.
      layers: Tuple of int. Layers to read.
      lengths: int [n]. Words per row, in total the words of the files.
      width: int. H.

    Returns:
      StackedRows, float16 [n, longest row, LE, H].

    Raises:
      InputError: If a file is missing or damaged.
    """
    return StackedRows(
        StoredRows(folder, make_entries(layers, width), lengths).open(
            "compute the embeddings again"
        )
    )


def make_entries(layers, width):
    """Returns the entries of the files of layers, dict of name to Entry. `width`: H."""
    return {f"layer_{layer}": Entry([-1, width], DTYPE.name) for layer in layers}
