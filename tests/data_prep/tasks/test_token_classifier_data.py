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


@pytest.mark.parametrize("labels", [("B", "I", "O"), ("O", "B_PER", "I_PER"), ("PER-B", "O"), ("O", "U", "L.X", "B:Y"),
                                    ("O", "b-per", "i-per"), ("O", "B-")])
def test_a_note_about_entities_in_another_format(write, make_tokenizer, capsys, labels):
    assert read(write, make_tokenizer, labels) == tuple(sorted(labels))
    lines = capsys.readouterr().err.splitlines()
    first = min({*labels} - {"O"})
    assert lines == [f"train: 1 sentences, {len(labels)} words",
                     f"note: labels such as {first} are not read as entities, so the metric is accuracy instead of "
                     "entity F1; name them B-TYPE and I-TYPE"]


@pytest.mark.parametrize("labels", [
    ("B-PER", "O"), ("B-L", "I-L", "O"), ("NOUN", "O", "B"), ("B", "I"), ("NOUN", "VERB")])
def test_no_note_about_other_labels(write, make_tokenizer, capsys, labels):
    read(write, make_tokenizer, labels)
    assert "note" not in capsys.readouterr().err


def test_one_label_names_the_setting_that_selects_labels(write, make_tokenizer):
    for name, settings, setting in (("train.txt", {}, "label_column"),
                                    ("train.conllu", {"treebank_column": "feats"}, "treebank_column")):
        with pytest.raises(InputError, match=rf"/{name}: all words have the label 'A=1'; check `{setting}`$"):
            read(write, make_tokenizer, ["A=1", "A=1 "] if setting == "label_column" else ["A=1"] * 2, name, **settings)


@pytest.mark.parametrize(("settings", "message"), [
    ({"train_file": "a.conllu"},
     "`treebank_column` is required for the treebank `train_file`=a.conllu; set upos, xpos, or feats"),
    ({"train_file": "a.txt", "treebank_column": "upos"},
     "`treebank_column`=upos: requires treebanks, but `train_file`=a.txt does not end in .conllu"),
    ({"train_file": "a.txt", "test_file": "b.conllu", "treebank_column": "xpos"},
     "`train_file`=a.txt: has another format than `test_file`=b.conllu; all files must end in .conllu, or none"),
    ({"dev_file": "a.conllu", "treebank_column": "feats", "label_column": 3},
     "`label_column`=3: does not apply to the treebank `dev_file`=a.conllu"),
    ({"dev_file": "a.conllu", "treebank_column": "upos", "document_context": True},
     "`document_context`=True: does not apply to the treebank `dev_file`=a.conllu")])
def test_settings_of_treebanks(settings, message):
    with pytest.raises(InputError) as error:
        Settings(**settings)
    assert str(error.value) == message
