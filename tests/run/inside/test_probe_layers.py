"""run.probe_layers: tags and relations, of treebanks and of columns, and what is refused."""

import json

import numpy as np
import pytest

from bert_tf import models
from bert_tf.cli.model_settings import ModelSettings, TokenizerSettings
from bert_tf.errors import InputError
from run.inside import probes
from run.inside.settings import ProbeLayersSettings
from tests import toy_runs
from tests.settings import resolved

SENTENCES = [("the DET 2 det", "debugger NOUN 3 nsubj", "stops VERB 0 root"),
             ("a DET 2 det", "line NOUN 3 nsubj", "stops VERB 0 root", "here ADV 3 advmod")] * 6


@pytest.fixture(scope="module")
def folder(tmp_path_factory, reference):
    folder = tmp_path_factory.mktemp("probing")
    toy_runs.write(folder, reference, {"model": (None, models.BertEncoder)}, num_hidden_layers=2)
    rows = [[word.split() for word in sentence] for sentence in SENTENCES]
    (folder / "words.conllu").write_text("".join("".join(
        f"{number}\t{form}\t_\t{tag}\t_\t_\t{head}\t{relation}\t_\t_\n"
        for number, (form, tag, head, relation) in enumerate(sentence, start=1)) + "\n" for sentence in rows))
    (folder / "words.txt").write_text("".join("".join(
        f"{form} {tag}\n" for form, tag, *_ in sentence) + "\n" for sentence in rows))
    return folder


def probe(folder, name, output_dir, **options):
    options = {"num_probe_epochs": 40, "probe_learning_rate": 0.02, **options}
    settings = ProbeLayersSettings(
        ModelSettings(init_checkpoint=str(folder / "model")), TokenizerSettings(max_seq_length=12),
        train_file=str(folder / name), dev_file=str(folder / name), output_dir=str(folder / output_dir), **options)
    probes.run(resolved(settings))
    return json.loads((folder / output_dir / "probes.json").read_text())


def test_tags_and_relations(folder, capsys):
    tags = probe(folder, "words.conllu", "tags")
    assert (tags["train_examples"], tags["majority"]) == (42, pytest.approx(12 / 42))
    assert len(tags["labels"]["accuracy"]) == 3  # the embeddings and two layers
    assert tags["labels"]["mix"] > 0.9  # each form has one tag
    assert sum(tags["labels"]["weights"]) == pytest.approx(1)
    relations = probe(folder, "words.conllu", "relations", label="relations")
    assert relations["train_examples"] == 30  # all but the roots
    lines = capsys.readouterr().out.splitlines()
    assert lines[-7].split() == ["layer", "accuracy", "control", "selectivity", "weight"]
    assert lines[-3].split()[0] == "mix"
    assert lines[-2].startswith("30 examples of 3 labels, judged by 30; the commonest label, ")
    table = (folder / "relations" / "probes.tsv").read_text().splitlines()
    assert float(table[1].split("\t")[1]) == relations["labels"]["accuracy"][0]
    assert (folder / "relations" / "probes.png").read_bytes().startswith(b"\x89PNG")


def test_columns_give_what_the_treebank_gives(folder):
    assert probe(folder, "words.txt", "columns") == probe(folder, "words.conllu", "tags")


def test_spans_of_several_words(folder, monkeypatch):
    (folder / "entities.txt").write_text(
        "the B-X\ndebugger I-X\nstops O\n\nhere O\na B-Y\nline I-Y\nstops I-Y\nthe B-X\n\n" * 6)
    read = probes.read
    found = []
    monkeypatch.setattr(probes, "read", lambda *arguments: found.append(read(*arguments)) or found[-1])

    report = probe(folder, "entities.txt", "spans", label="spans", random_seed=-2**63)

    spans = {(label, *(found[0].forms[place] for place in places))
             for label, places in zip(found[0].labels, found[0].places, strict=True)}
    assert spans == {("X", "the", "debugger"), ("Y", "a", "stops"), ("X", "the", "the")}
    assert (report["train_examples"], report["majority"]) == (18, pytest.approx(12 / 18))
    assert report["labels"]["mix"] == 1
    with pytest.raises(InputError, match=r"`label`=spans: the labels of .*words\.txt are not those of entities"):
        probe(folder, "words.txt", "no_spans", label="spans")


def test_bytes_that_are_not_utf8_are_left_out_and_said(folder, capsys):
    content = (folder / "words.txt").read_bytes()
    (folder / "garbled.txt").write_bytes(content.replace(b"here", b"h\xe9ere"))
    assert probe(folder, "garbled.txt", "garbled")["labels"] == probe(folder, "words.txt", "columns")["labels"]
    assert "garbled.txt: 6 lines have bytes that are not UTF-8, which are left out" in capsys.readouterr().err
    content = (folder / "words.conllu").read_bytes()
    (folder / "garbled.conllu").write_bytes(content.replace(b"\there", b"\th\xe9ere", 2))
    read = list(probes._sentences(str(folder / "garbled.conllu"), ProbeLayersSettings(train_file="a.conllu"), None))
    assert read[1].words == ["a", "line", "stops", "here"]


def test_labels_of_the_control_task_are_of_forms():
    train = probes.LabelledWords(["a", "b", "a", "c"], None, np.arange(4)[:, np.newaxis], ["X", "Y", "X", "X"])
    dev = probes.LabelledWords(["c", "a"], None, np.arange(2)[:, np.newaxis], ["X", "Y"])
    first, second = probes.control_labels(train, dev, 3)
    assert first[0] == first[2] == second[1]
    assert first[3] == second[0]
    assert {*first, *second} <= {"X", "Y"}
    assert (first, second) == probes.control_labels(train, dev, 3)


@pytest.mark.parametrize(("options", "message"), [
    ({"model": ModelSettings("model/bert_config.json")}, "`init_checkpoint` is required"),
    ({"train_file": None}, "`train_file` is required"),
    ({"label": "relations", "train_file": "words.txt"}, "`label`=relations: is of treebanks, and `train_file`="),
    ({"dev_file": "words.txt"}, "`dev_file`=words.txt: is not of the form of `train_file`=words.conllu; either"),
    ({"label": "spans"}, "`label`=spans: is of files with a label for each word, and `train_file`=words.conllu is a"),
    ({"label": "senses"}, "`label`=senses: it must be one of tags, relations"),
])
def test_what_is_refused(folder, options, message, monkeypatch):
    monkeypatch.chdir(folder)
    with pytest.raises(InputError, match=f"^{message}"):
        resolved(ProbeLayersSettings(**{
            "model": ModelSettings(init_checkpoint="model"), "tokenizer": TokenizerSettings(max_seq_length=12),
            "train_file": "words.conllu", "dev_file": "words.conllu", "output_dir": "x", **options}))


def test_sentences_that_are_all_too_long(folder):
    settings = resolved(ProbeLayersSettings(
        ModelSettings(init_checkpoint=str(folder / "model")), TokenizerSettings(max_seq_length=4),
        train_file=str(folder / "words.conllu"), dev_file=str(folder / "words.conllu"),
        output_dir=str(folder / "long")))
    with pytest.raises(InputError, match=r"`train_file`=.*words\.conllu: has no sentence of up to `max_seq_length`=4"):
        probes.run(settings)
    assert not (folder / "long").exists()


def test_an_empty_file_is_found_before_the_model_is_loaded(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(probes, "load_pretrained", lambda *arguments: pytest.fail("it must not be loaded"))
    (tmp_path / "empty.conllu").write_text("")
    settings = resolved(ProbeLayersSettings(
        ModelSettings(init_checkpoint=str(folder / "model")), TokenizerSettings(max_seq_length=12),
        train_file=str(folder / "words.conllu"), dev_file=str(tmp_path / "empty.conllu"),
        output_dir=str(tmp_path / "out")))
    with pytest.raises(InputError, match=r"empty\.conllu: has no sentences"):
        probes.run(settings)
