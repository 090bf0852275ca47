"""Labels of token classification data."""

import pytest

from bert_tf.features import FEATURES
from bert_tf.tasks.metadata import TaskMetadata
from data_prep.tasks.token_classifier import TokenClassifierData, TokenClassifierSettings
from tests.errors import Message, raises_message


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"train_file": "a.conllu"},
            Message(
                "treebank_column",
                "is required for the treebank `train_file`=a.conllu",
                "set upos or xpos or feats",
            ),
        ),
        (
            {"train_file": "a.txt", "treebank_column": "upos"},
            Message(
                "treebank_column",
                "requires treebanks",
                "`train_file`=a.txt does not end",
                value="upos",
            ),
        ),
    ],
)
def test_settings_of_treebanks(settings, message):
    with raises_message(message):
        TokenClassifierData(TokenClassifierSettings(**settings), 8).examples("train")


def test_a_file_without_labels(write, make_tokenizer):
    path = write("a.txt", "a O\nb X\n\nb O\n")
    tokenizer = make_tokenizer("a", "b")
    data = TokenClassifierData(
        TokenClassifierSettings(train_file=path),
        8,
        TaskMetadata("token_classifier", None, None, ("O", "X")),
    )
    labeled = data.read("train", tokenizer)
    found = data.read_unlabeled(path, tokenizer)
    assert {name: values.tolist() for name, values in found.items()} == {
        name: labeled[name].tolist() for name in FEATURES
    }
