"""A model whose heads attend to neighboring tokens by construction."""

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import models
from bert_tf.config import BertConfig

WIDTH = 32
HEADS = 2
POSITIONS = 16
WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "the",
    "cat",
    "dog",
    "sat",
    "ran",
    "on",
    "mat",
    ".",
    ",",
    "un",
    "##aff",
    "##able",
    "<",
    "script",
    ">",
    "&",
    "x",
]


@pytest.fixture(scope="session")
def shifting(tmp_path_factory):
    """Directory of an encoder of one layer, whose heads attend to adjacent tokens.

    Head 0 attends to the previous token, and head 1 to the next token. Embeddings are one-hot
    positions. Queries are shifted by one relative to keys.
    """
    folder = tmp_path_factory.mktemp("shifting")
    config = BertConfig(
        len(WORDS), WIDTH, 1, HEADS, 8, max_position_embeddings=POSITIONS, type_vocab_size=2
    )
    encoder = models.BertEncoder(config)
    table = np.eye(POSITIONS, WIDTH, dtype=np.float32)
    encoder.embeddings.word_embeddings.assign(tf.zeros_like(encoder.embeddings.word_embeddings))
    encoder.embeddings.token_type_embeddings.assign(
        tf.zeros_like(encoder.embeddings.token_type_embeddings)
    )
    encoder.embeddings.position_embeddings.assign(table)
    kernel = np.zeros([WIDTH, 3, HEADS, WIDTH // HEADS], np.float32)
    same = np.eye(POSITIONS)
    for head, offset in ((0, -1), (1, 1)):
        # The query of p is the key of p + offset.
        kernel[:POSITIONS, 0, head] = np.eye(POSITIONS, k=offset)
        kernel[:POSITIONS, 1, head] = same
    projection = encoder.encoder_layers[0].attention.qkv
    projection.kernel.assign(kernel.reshape(WIDTH, -1))
    projection.bias.assign(tf.zeros_like(projection.bias))
    (folder / "bert_config.json").write_text(config.to_json())
    (folder / "vocab.txt").write_text("".join(f"{word}\n" for word in WORDS))
    tf.train.Checkpoint(model=encoder).write(str(folder / "ckpt-1"))
    (folder / "checkpoint").write_text('model_checkpoint_path: "ckpt-1"\n')
    return folder
