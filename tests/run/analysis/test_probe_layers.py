"""run.probe_layers: probes of tags, relations, and spans, and rejected inputs."""

import csv
import shutil

import pytest

from bert_tf import models
from run.analysis import probes
from tests import scripts, toy_runs
from tests.errors import Message, raises_message

pytestmark = pytest.mark.large

SENTENCES = [
    ("the DET 2 det", "debugger NOUN 3 nsubj", "stops VERB 0 root"),
    ("a DET 2 det", "line NOUN 3 nsubj", "stops VERB 0 root", "here ADV 3 advmod"),
] * 6


@pytest.fixture(scope="module")
def folder(tmp_path_factory, reference):
    """Directory of a model of two layers, and of SENTENCES as a treebank and in columns."""
    folder = tmp_path_factory.mktemp("probing")
    toy_runs.write(folder, reference, {"model": (None, models.BertEncoder)}, num_hidden_layers=2)
    rows = [[word.split() for word in sentence] for sentence in SENTENCES]
    (folder / "words.conllu").write_text(
        "".join(
            "".join(
                f"{number}\t{form}\t_\t{tag}\t_\t_\t{head}\t{relation}\t_\t_\n"
                for number, (form, tag, head, relation) in enumerate(sentence, start=1)
            )
            + "\n"
            for sentence in rows
        )
    )
    (folder / "words.txt").write_text(
        "".join(
            "".join(f"{form} {tag}\n" for form, tag, *_ in sentence) + "\n" for sentence in rows
        )
    )
    (folder / "entities.txt").write_text(
        "the B-X\ndebugger I-X\nstops O\n\nhere O\na B-Y\nline I-Y\nstops I-Y\nthe B-X\n\n" * 6
    )
    (folder / "empty.conllu").write_text("")
    shutil.copytree(folder / "model", folder / "no_weights")
    next((folder / "no_weights").glob("*.data*")).write_bytes(b"")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(probes, "EPOCHS", 40)
        patch.setattr(probes, "LEARNING_RATE", 0.02)
        yield folder


def probe(name, output_dir, **flags):
    """Trains and evaluates probes on a file.

    Returns probes.txt, and the rows of probes.tsv, of numbers.
    """
    scripts.run_here(
        "run.probe_layers",
        **{
            "init_checkpoint": "model",
            "train_file": name,
            "dev_file": name,
            "output_dir": output_dir,
            "max_seq_length": 12,
            **flags,
        },
    )
    with open(output_dir / "probes.tsv", newline="", encoding="utf-8") as file:
        *layers, mix = csv.DictReader(file, delimiter="\t")
    assert mix.pop("layer") == "mix"
    return (output_dir / "probes.txt").read_text(), [
        {name: float(value) for name, value in row.items()} for row in (*layers, mix)
    ]


@pytest.mark.usefixtures("folder")
def test_tags_of_a_treebank_and_of_columns(tmp_path):
    text, (*layers, mix) = probe("words.conllu", tmp_path / "treebank")
    assert "\n42 training examples of 4 labels" in text
    assert "; most common label, DET: 0.2857\n" in text  # 12 of 42.
    assert len(layers) == 3  # The embeddings and two layers.
    assert mix["accuracy"] > 0.9  # Each form has one tag.
    assert sum(layer["weight"] for layer in layers) == pytest.approx(1)
    assert probe("words.txt", tmp_path / "columns") == (text, [*layers, mix])


@pytest.mark.usefixtures("folder")
def test_relations(tmp_path, capsys):
    text, _ = probe("words.conllu", tmp_path, label="relations")
    assert "\n30 training examples of 3 labels" in text  # All words except for the roots.
    assert capsys.readouterr().out.endswith(text)
    assert (tmp_path / "probes.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("folder")
def test_spans_of_several_words(tmp_path, monkeypatch):
    read = probes.compute_examples
    found = []
    monkeypatch.setattr(
        probes, "compute_examples", lambda *arguments: found.append(read(*arguments)) or found[-1]
    )
    text, (*_, mix) = probe("entities.txt", tmp_path, label="spans")
    (examples, forms), _ = found
    assert set(zip(examples.labels, forms, strict=True)) == {("X", "the"), ("Y", "a")}
    assert {last - first for first, last in examples.items} == {0, 1, 2}
    assert "\n18 training examples of 2 labels" in text
    assert "; most common label, X: 0.6667\n" in text  # 12 of 18.
    assert mix["accuracy"] == 1


def test_labels_of_the_control_task_depend_only_on_forms():
    labels = probes.sample_control_labels(["X", "Y", "X", "X"], ["a", "b", "a", "c"], ["c", "d"], 3)
    assert list(labels) == ["a", "b", "c", "d"]
    assert {*labels.values()} <= {"X", "Y"}
    assert labels == probes.sample_control_labels(
        ["X", "Y", "X", "X"], ["a", "b", "a", "c"], ["c", "d"], 3
    )


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            {"label": "relations", "train_file": "words.txt"},
            Message("label", "requires treebanks, but words.txt", value="relations"),
        ),
        (
            {"label": "spans"},
            Message(
                "label",
                "the labels of words.conllu",
                "not entity labels",
                "O, B-PER",
                value="spans",
            ),
        ),
        (
            {"max_seq_length": 4},
            Message(
                "train_file", "words.conllu", "contains no sentence", "at most `max_seq_length`=4"
            ),
        ),
        (
            {"dev_file": "empty.conllu", "init_checkpoint": "no_weights"},
            Message("empty.conllu", "contains no sentences"),
        ),
    ],
)
@pytest.mark.usefixtures("folder")
def test_rejected_inputs(tmp_path, flags, message):
    with raises_message(message):
        probe("words.conllu", tmp_path / "out", **flags)
    assert not (tmp_path / "out").exists()
