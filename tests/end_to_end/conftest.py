"""Inputs of complete workflows. Each test writes its outputs to other directories next to them."""

import pytest

from bert_tf.config import BertConfig
from tests import scripts
from tests.end_to_end import toy_files

VOCAB_SIZE = 301


@pytest.fixture(scope="session")
def prepared(tmp_path_factory):
    """A directory with a corpus, a vocabulary, records, a config, and task/, for classification."""
    folder = tmp_path_factory.mktemp("line")
    toy_files.write_corpus_and_task(folder, 25)
    config = BertConfig(VOCAB_SIZE, 16, 2, 4, 28, max_position_embeddings=32, type_vocab_size=2)
    (folder / "bert_config.json").write_text(config.to_json())
    scripts.succeed(
        "data_prep.learn_vocab",
        folder,
        input_file="train.txt",
        vocab_file="vocab.txt",
        vocab_size=VOCAB_SIZE,
        num_unused=5,
    )
    scripts.succeed(
        "data_prep.create_pretraining_data",
        folder,
        input_file="train.txt",
        output_file="train.tfrecord",
        vocab_file="vocab.txt",
        dupe_factor=2,
        max_seq_length=24,
        max_predictions_per_seq=4,
    )
    return folder


@pytest.fixture(scope="session")
def words_folder(tmp_path_factory):
    """A directory with a config and words/, a task that a toy model learns."""
    folder = tmp_path_factory.mktemp("words")
    toy_files.write_config(folder)
    toy_files.write_words_task(folder)
    return folder
