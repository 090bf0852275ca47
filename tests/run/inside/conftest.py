"""A model one of whose heads attends by construction to the token before, and toy models of each task."""

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import models
from bert_tf.config import BertConfig
from bert_tf.model_folder.task_metadata import TaskMetadata
from tests import toy_runs

WIDTH, HEADS, POSITIONS = 32, 2, 16
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "dog", "sat", "ran", "on", "mat", ".", ",", "un",
         "##aff", "##able", "<", "script", ">", "&", "x"]
TASKS = {
    "sst": (TaskMetadata("classifier", 24, True, ("0", "1")), lambda config: models.BertClassifier(config, 2)),
    "tagger": (TaskMetadata("token_classifier", 24, True, ("O", "X")),
               lambda config: models.BertTokenClassifier(config, 2)),
    "squad": (TaskMetadata("span_labeler", 29, True, doc_stride=5, max_query_length=7), models.BertSpanLabeler),
    "swag": (TaskMetadata("multiple_choice", 24, True), models.BertMultipleChoice),
    "pretrained": (None, models.BertPretrainer),
}


@pytest.fixture(scope="session")
def shifting(tmp_path_factory):
    """The folder of an encoder of one layer: its head 0 attends to the token before, its head 1 to the token after.

    Embeddings are positions alone, one-hot; queries are shifted by one against keys.
    """
    folder = tmp_path_factory.mktemp("shifting")
    config = BertConfig(len(WORDS), WIDTH, 1, HEADS, 8, max_position_embeddings=POSITIONS, type_vocab_size=2)
    encoder = models.BertEncoder(config)
    table = np.eye(POSITIONS, WIDTH, dtype=np.float32)
    encoder.embeddings.word_embeddings.assign(tf.zeros_like(encoder.embeddings.word_embeddings))
    encoder.embeddings.token_type_embeddings.assign(tf.zeros_like(encoder.embeddings.token_type_embeddings))
    encoder.embeddings.position_embeddings.assign(table)
    kernel = np.zeros([WIDTH, 3, HEADS, WIDTH // HEADS], np.float32)
    same = np.eye(POSITIONS)
    for head, offset in ((0, -1), (1, 1)):
        kernel[:POSITIONS, 0, head] = np.eye(POSITIONS, k=offset)  # the query of p is the key of p + offset
        kernel[:POSITIONS, 1, head] = same
    projection = encoder.encoder_layers[0].attention.qkv
    projection.kernel.assign(kernel.reshape(WIDTH, -1))
    projection.bias.assign(tf.zeros_like(projection.bias))
    (folder / "bert_config.json").write_text(config.to_json())
    (folder / "vocab.txt").write_text("".join(f"{word}\n" for word in WORDS))
    tf.train.Checkpoint(model=encoder).write(str(folder / "ckpt-1"))
    (folder / "checkpoint").write_text('model_checkpoint_path: "ckpt-1"\n')
    return folder


@pytest.fixture(scope="session")
def toys(tmp_path_factory, reference):
    """A folder of toy models, as TASKS names them: two layers of 2 heads; and data of SST-2 and a tagger."""
    folder = tmp_path_factory.mktemp("toys")
    toy_runs.write(folder, reference, TASKS, num_hidden_layers=2)
    (folder / "sst" / "run.json").write_text('{"task_name": "sst-2"}')
    (folder / "tagger" / "run.json").write_text('{"token_column": 0, "label_column": -1}')
    (folder / "data").mkdir()
    for split in ("train", "dev"):
        (folder / "data" / f"{split}.tsv").write_text("\n".join(["sentence\tlabel", *(
            f"word {number} the line{' stops' * (number % 5)}\t{number % 2}" for number in range(12)), ""]))
    (folder / "data" / "dev.txt").write_text("the O\nline X\n\nword X\nstops O\n\n")
    return folder
