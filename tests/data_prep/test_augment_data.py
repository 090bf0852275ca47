"""Copies of examples with replaced words: proposals by hand and from a model, and the script."""

import random
import shutil

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import models
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.tokenization.plain_tokenizer import PlainTokenizer
from data_prep.augmentation import checkpoint_files
from data_prep.augmentation.job import sample_copies
from data_prep.augmentation.proposals import EmbeddingProposals, MaskedLMProposals
from data_prep.augmentation.settings import AugmentationSettings
from data_prep.augmentation.words import Words, replace
from tests import scripts, toy_runs
from tests.encoders import make_encoder

SCRIPT = "data_prep.augment_data"
TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "dog", "cat", "fox", "jump", "##s", "##ed", "the", "run", ","]
TOKENIZER = PlainTokenizer(TOKENS)


def find_words(text, stop_words="english"):
    return Words(TOKENIZER, stop_words)(text)


def test_replaceable_words():
    ids, words = find_words("The dog, Jumped zzz")
    assert [TOKENS[id_] for id_ in ids] == ["the", "dog", ",", "jump", "##ed", "[UNK]"]
    assert [(word.text, word.start, word.end, word.first) for word in words] == [("dog", 4, 7, 1), ("Jumped", 9, 15, 3)]
    assert [[TOKENS[id_] for id_ in word.ids] for word in words] == [["dog"], ["jump", "##ed"]]
    assert [word.text for word in find_words("the dog", "none")[1]] == ["the", "dog"]
    assert replace("The dog, Jumped zzz", [(words[0], "cat"), (words[1], "run")]) == "The cat, run zzz"


def test_neighbors_of_word_embeddings():
    """The highest cosines to the mean of a word's token embeddings, among the allowed entries."""
    table = np.zeros([len(TOKENS), 2], np.float32)
    for token, angle, length in (("dog", 0, 1), ("cat", 20, 9), ("fox", 50, 1), ("run", 92, 2), ("jump", 80, 1),
                                 ("##s", 100, 1), ("the", 10, 1)):
        table[TOKENS.index(token)] = length * np.cos(np.deg2rad(angle)), length * np.sin(np.deg2rad(angle))
    allowed = np.isin(TOKENS, ["dog", "cat", "fox", "run", "jump"])
    ids, words = find_words("fox dog jumps fox")
    found = EmbeddingProposals(table, allowed, 3)([(ids, word) for word in words])
    assert [[TOKENS[id_] for id_ in row] for row in found] == [
        ["fox", "cat", "jump"], ["dog", "cat", "fox"], ["run", "jump", "fox"], ["fox", "cat", "jump"]]


def test_predictions_of_a_masked_lm():
    """Batches of pairs of several lengths give the results of each pair alone. Windows of long texts hold the word."""
    config = BertConfig(len(TOKENS), 16, 2, 2, 24, max_position_embeddings=40, type_vocab_size=2, initializer_range=0.8)
    model = models.BertPretrainer(make_encoder(config, layers="unpadded", last_where_read=True))
    plain = models.BertPretrainer(config)
    for variable, other in zip(plain.variables, model.variables, strict=True):
        variable.assign(other)
    allowed = np.array([token.isalpha() for token in TOKENS])
    propose = MaskedLMProposals(model, TOKENIZER, allowed, 3, max_seq_length=15, batch_size=2)
    requests = [(ids, word) for ids, words in map(find_words, ("dog fox", "cat", "fox dog run cat the dog , fox run"))
                for word in words]
    for (ids, word), proposed in zip(requests, propose(requests), strict=True):
        start = max(0, min(word.first - 3, len(ids) - 6))  # six tokens of each text fit
        window = ids[start : start + 6]
        assert window[word.first - start] == word.ids[0]
        masked = [TOKENIZER.mask_id if place == word.first - start else id_ for place, id_ in enumerate(window)]
        row = [TOKENIZER.cls_id, *masked, TOKENIZER.sep_id, *window, TOKENIZER.sep_id]
        features = {"input_ids": row, "input_mask": [1] * len(row),
                    "segment_ids": [0] * (len(window) + 2) + [1] * (len(window) + 1),
                    "masked_lm_positions": [word.first - start + 1]}
        logits = plain({name: tf.constant([value]) for name, value in features.items()})["masked_lm_logits"][0, 0]
        best = [id_ for id_ in np.argsort(-logits.numpy()) if allowed[id_]]
        assert proposed.tolist() == best[:3]


def test_copies():
    def propose(text):
        return text, [(word, ["x", "y"]) for word in find_words(text)[1]]

    texts = [propose(text) for text in ("The dog, Jumped", "the")]
    copies = sample_copies(texts, 50, 1.0, random.Random(3))
    assert sorted(copies) == [(f"The {a}, {b}", "the") for a in "xy" for b in "xy"]  # each copy once
    assert sample_copies(texts, 50, 1e-12, random.Random(3)) == []  # the example is not a copy
    copies = sample_copies([propose("dog " * 400)], 5, 0.4, random.Random(3))
    assert len(copies) == 5
    assert all(200 < copy[0].count("dog") < 280 for copy in copies)  # 240 expected, standard deviation 10
    assert sample_copies(texts, 3, 0.4, random.Random(3)) == sample_copies(texts, 3, 0.4, random.Random(3))


@pytest.fixture(scope="module")
def prepared(tmp_path_factory, reference):
    """A directory of models with and without a masked LM, and tables of examples."""
    folder = tmp_path_factory.mktemp("augmentation")
    toy_runs.write(folder, reference, {"model": (None, models.BertPretrainer), "encoder": (None, models.BertEncoder)})
    (folder / "mrpc.tsv").write_text("Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n" + "".join(
        f"{label}\t{label}1\t2\tThe first story was told in London\tIt was of two people\n" for label in (0, 1)))
    (folder / "empty.tsv").write_text("Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n")
    (folder / "own.csv").write_text('words,label\n"a city, and ""the"" people",x\n')
    return folder


@pytest.fixture
def folder(prepared, monkeypatch):
    """The same directory, as the current one."""
    monkeypatch.chdir(prepared)
    return prepared


def read_rows(path):
    return [line.split("\t") for line in path.read_text().splitlines()]


def test_a_table_of_pairs(folder, capsys):
    flags = {"input_file": "mrpc.tsv", "task_name": "MRPC", "init_checkpoint": "model", "copies": 4, "batch_size": 3}
    scripts.run_here(SCRIPT, output_file="out.tsv", **flags)
    rows, source = (read_rows(folder / name) for name in ("out.tsv", "mrpc.tsv"))
    assert rows[:2] == source[:2]
    assert [row[0] for row in rows[1:]] == ["0"] * 5 + ["1"] * 5
    assert all(row[1] == f"{row[0]}1" and len(row) == 5 for row in rows[1:])
    assert len({tuple(row) for row in rows}) == 11
    for column in (3, 4):  # both texts have replaced words
        assert {len(row[column].split()) for row in rows[1:]} == {len(source[1][column].split())}
        assert len({row[column] for row in rows[1:]}) > 1
    assert capsys.readouterr().out.startswith("out.tsv: 10 rows, including 2 from mrpc.tsv; ")
    scripts.run_here(SCRIPT, output_file="again.tsv", **flags | {"batch_size": 64})
    assert read_rows(folder / "again.tsv") == rows
    scripts.run_here(SCRIPT, output_file="other.tsv", random_seed=1, **flags)
    assert read_rows(folder / "other.tsv") != rows


def test_csv_and_word_embeddings(folder):
    scripts.run_here(SCRIPT, input_file="own.csv", output_file="out.csv", text_columns="words",
                     init_checkpoint="encoder", masked_lm="false", copies=3, replace_probability=1,
                     num_candidates=1)
    header, source, *copies = (folder / "out.csv").read_text().splitlines()
    assert (header, source) == ("words,label", '"a city, and ""the"" people",x')
    assert copies
    for line in copies:
        assert line.startswith('"a ')
        assert ', and ""the"" ' in line
        assert line.endswith('",x')
        assert "city" not in line
        assert "people" not in line


@pytest.mark.parametrize(("flags", "expected"), [
    ({}, (True, False)), ({"do_lower_case": True}, (True, False)), ({"do_lower_case": False}, (False, None)),
    ({"strip_accents": True}, (True, True)), ({"do_lower_case": False, "strip_accents": True}, (False, True))])
def test_the_casing_of_the_checkpoint(folder, tmp_path, flags, expected):
    shutil.copytree("encoder", tmp_path / "encoder")
    (tmp_path / "encoder" / "tokenizer_config.json").write_text('{"do_lower_case": true, "strip_accents": false}')
    settings = AugmentationSettings(init_checkpoint=str(tmp_path / "encoder"), **flags)
    assert checkpoint_files.read(settings)[2:] == expected


@pytest.mark.parametrize(("flags", "message"), [
    ({"init_checkpoint": "encoder"}, "`init_checkpoint`=encoder: has no masked LM; it lacks cls/predictions/"),
    ({"text_columns": "nothing", "task_name": None}, "mrpc.tsv:1: column 'nothing' does not exist; must be one of"),
    ({"text_columns": "Quality"}, "`text_columns`=Quality: cannot be combined with `task_name`"),
    ({"task_name": None}, "`text_columns` or `task_name` is required; the columns are Quality, '#1 ID'"),
    ({"task_name": "no"}, "unknown task 'no'; must be one of cola"),
    ({"output_file": "out.csv"}, "`output_file`=out.csv: must have the same format as `input_file`=mrpc.tsv"),
    ({"input_file": "empty.tsv"}, "`input_file`=empty.tsv: contains no examples"),
    ({"init_checkpoint": "nowhere"}, "`init_checkpoint`=nowhere"),
    ({"input_file": "own.csv", "output_file": "out.csv"}, "own.csv:2: has 2 columns, but column 5 is required"),
])
def test_invalid_input(folder, flags, message):
    before = sorted(path.name for path in folder.iterdir())
    flags = {"input_file": "mrpc.tsv", "output_file": "new.tsv", "task_name": "mrpc", "init_checkpoint": "model",
             **flags}
    with pytest.raises(InputError, match=message):
        scripts.run_here(SCRIPT, **flags)
    assert sorted(path.name for path in folder.iterdir()) == before
