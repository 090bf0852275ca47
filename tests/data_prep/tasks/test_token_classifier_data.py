"""Labels of token classification data."""

import pytest

from bert_tf.errors import InputError
from data_prep.tasks.token_classifier import Settings, TokenClassifierData


@pytest.mark.parametrize(("settings", "message"), [
    ({"train_file": "a.conllu"},
     "`treebank_column` is required for the treebank `train_file`=a.conllu; set upos or xpos or feats"),
    ({"train_file": "a.txt", "treebank_column": "upos"},
     "`treebank_column`=upos: requires treebanks, but `train_file`=a.txt does not end in .conllu")])
def test_settings_of_treebanks(settings, message):
    with pytest.raises(InputError) as error:
        TokenClassifierData(Settings(**settings), 8).examples("train")
    assert str(error.value) == message
