"""The commands of the tutorials run, one after another, with toy models and toy data."""

import csv
import json

import pyarrow
import pytest
from pyarrow import parquet

from bert_tf import models
from tests import toy_runs
from tests.pages import run_commands

pytestmark = [pytest.mark.extra_large, pytest.mark.timeout(400)]
TOY_FLAGS = {  # Module -> flags that replace those of a page.
    "data_prep.learn_vocab": ["--vocab_size=250"],
    "run.run_pretraining": [
        "--bert_config_file=toy.json",
        "--train_batch_size=4",
        "--num_train_steps=2",
        "--num_warmup_steps=1",
    ],
}


@pytest.fixture
def folder(tmp_path, reference):
    """A directory with models, a CSV file, and texts."""
    toy_runs.write(
        tmp_path,
        reference,
        dict.fromkeys(("minilm", "bert"), (None, models.BertPretrainer)),
        max_position_embeddings=128,
    )
    with open(tmp_path / "reviews.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(
            [
                ("id", "Review", "Sentiment"),
                *(
                    (number, text, ("negative", "positive")[number % 2])
                    for number, text in enumerate(toy_runs.TEXTS * 3)
                ),
            ]
        )
    with open(tmp_path / "new.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(
            [
                ("id", "Review"),
                *((9000 + number, text) for number, text in enumerate(toy_runs.TEXTS)),
            ]
        )
    return tmp_path


def test_the_classifier_of_the_readme(folder):
    assert run_commands("README.md", folder) == [
        "run.run_classifier",
        "run.predict",
        "run.export_saved_model",
    ]
    assert (folder / "export" / "1" / "saved_model.pb").exists()
    header, *rows = csv.reader((folder / "predictions.csv").read_text().splitlines())
    assert header == ["id", "label", "probabilities.negative", "probabilities.positive", "was_cut"]
    assert [int(row[0]) for row in rows] == [9000 + number for number in range(len(toy_runs.TEXTS))]


def test_a_table_to_a_service(folder):
    texts = toy_runs.TEXTS * 3
    polarity = ["negative", "positive"] * (len(texts) // 2)
    parquet.write_table(
        pyarrow.table({"Review": texts, "Sentiment": polarity}), folder / "reviews.parquet"
    )
    (folder / "doccano.jsonl").write_text(
        "\n".join(
            json.dumps({"id": number, "text": text, "label": [label] if number % 3 else []})
            for number, (text, label) in enumerate(zip(texts, polarity, strict=True))
        )
    )
    assert run_commands("docs/table_to_service.md", folder) == [
        *["run.run_classifier"] * 3,
        "run.predict",
        *["run.export_saved_model"] * 2,
    ]
    for name, is_multi_label in (("out", False), ("out_parquet", False), ("out_doccano", True)):
        task = json.loads((folder / name / "task.json").read_text())
        assert task["multi_label"] == is_multi_label
        assert task["labels"] == ["negative", "positive"]


def write_corpus(folder, reference):
    """Writes raw/, held_out/, and toy.json, the config of a toy model."""
    text = (reference / "text" / "corpus.txt").read_text(encoding="utf-8")
    for name in ("raw", "held_out"):
        (folder / name).mkdir()
        (folder / name / "a.txt").write_text(text, encoding="utf-8")
    (folder / "toy.json").write_text((folder / "bert" / "bert_config.json").read_text())


def test_pretraining_on_your_own_text(folder, reference):
    write_corpus(folder, reference)
    assert len(run_commands("docs/pretrain_on_your_text.md", folder, TOY_FLAGS)) == 12
    assert (folder / "out" / "eval_results.txt").exists()


def test_pretraining_at_scale(folder, reference):
    """The command for GPUs runs on two logical CPUs, and the command for a TPU does not run."""
    write_corpus(folder, reference)
    flags = TOY_FLAGS | {
        "data_prep.split_sentences": ["--num_output_shards=2"],
        "run.run_pretraining": [
            *TOY_FLAGS["run.run_pretraining"],
            "--distribution_strategy=mirrored_cpu",
            "--save_checkpoints_steps=1",
            "--eval_steps=1",
            "--max_eval_steps=1",
        ],
    }
    modules = run_commands("docs/pretrain_at_scale.md", folder, flags, without="tpu")
    assert modules == [
        "data_prep.split_sentences",
        "data_prep.learn_vocab",
        "data_prep.create_pretraining_data",
        "data_prep.split_sentences",
        "data_prep.create_pretraining_data",
        "run.run_pretraining",
    ]
    assert (folder / "pretrained" / "eval_results.txt").exists()
