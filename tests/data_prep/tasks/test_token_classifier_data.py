"""Labels of token classification data."""

import pytest

from bert_tf.errors import InputError
from data_prep.tasks.token_classifier import Settings, TokenClassifierData


def read(write, make_tokenizer, labels, name="train.txt", **settings):
    """Reads training data with a word for each label; returns the names of the labels."""
    columns = "{0}\tx\t_\tX\t_\t{1}\t_\t_\t_\t_\n" if name.endswith(".conllu") else "x {1}\n"
    path = write(name, "".join(columns.format(number, label) for number, label in enumerate(labels, 1)))
    data = TokenClassifierData(Settings(train_file=path, **settings), 8)
    data.read("train", make_tokenizer("x"))
    return data.labels


def test_one_label_names_the_setting_that_selects_labels(write, make_tokenizer):
    for name, settings, setting in (("train.txt", {}, "label_column"),
                                    ("train.conllu", {"treebank_column": "feats"}, "treebank_column")):
        with pytest.raises(InputError, match=rf"/{name}: all words have the label 'A=1'; check `{setting}`$"):
            read(write, make_tokenizer, ["A=1", "A=1 "] if setting == "label_column" else ["A=1"] * 2, name, **settings)


@pytest.mark.parametrize(("settings", "message"), [
    ({"train_file": "a.conllu"},
     "`treebank_column` is required for the treebank `train_file`=a.conllu; set upos or xpos or feats"),
    ({"train_file": "a.txt", "treebank_column": "upos"},
     "`treebank_column`=upos: requires treebanks, but `train_file`=a.txt does not end in .conllu")])
def test_settings_of_treebanks(settings, message):
    with pytest.raises(InputError) as error:
        TokenClassifierData(Settings(**settings), 8).examples("train")
    assert str(error.value) == message
