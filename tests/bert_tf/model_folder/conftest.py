"""Directories of models."""

import json

import pytest

from bert_tf.config import BertConfig
from bert_tf.tasks.metadata import TaskMetadata

SMALL = BertConfig(
    vocab_size=19,
    hidden_size=6,
    num_hidden_layers=2,
    num_attention_heads=3,
    intermediate_size=7,
    max_position_embeddings=13,
    type_vocab_size=5,
)
HUGGING_FACE = SMALL.to_dict() | {"model_type": "bert", "architectures": ["BertModel"]}


def describe(kind, labels=(), multi_label=False):
    """Returns the TaskMetadata of a config.json."""
    return TaskMetadata(kind, None, None, labels, multi_label=multi_label)


@pytest.fixture
def written(tmp_path):
    """(name=content, ...) -> the directory with these files.

    A dict is written as JSON. The last `_` of a name stands for a dot.
    """

    def write(folder=tmp_path, **contents):
        folder.mkdir(exist_ok=True)
        for name, content in contents.items():
            stem, _, suffix = name.rpartition("_")
            (folder / f"{stem}.{suffix}").write_text(
                content if isinstance(content, str) else json.dumps(content)
            )
        return str(folder)

    return write
