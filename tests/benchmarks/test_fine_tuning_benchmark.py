"""The benchmark of fine-tuning, with a peer of the standard library."""

import json

import pytest

from benchmarks import fine_tuning
from tests import scripts

pytestmark = pytest.mark.large

ROWS = {"train": "good\t1\nbad\t0\nawful\t0\n", "dev": "fine\t1\nugly\t0\ngreat\t1\nnice\t1\n"}


def test_accuracy_and_minutes_of_each_library(tmp_path, monkeypatch, capsys):
    for split, rows in ROWS.items():
        (tmp_path / f"{split}.tsv").write_text("sentence\tlabel\n" + rows)
    monkeypatch.setattr(fine_tuning, "run_ours", lambda *arguments: (2.0, 0.5))
    monkeypatch.setattr(
        fine_tuning,
        "PEERS",
        {
            "A peer": ([], "tests.benchmarks.fake_peer"),
            "KerasHub": (["no_such_package"], "no_such_module"),
        },
    )
    scripts.run_here(
        "benchmarks.fine_tuning",
        results_dir=tmp_path / "results",
        sst2_dir=tmp_path,
        init_checkpoint=tmp_path,
        num_train_rows=2,
        dtypes="bfloat16",
    )
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Fine-tuning on SST-2, bfloat16, this project: 2.00 min, accuracy 0.5000"
    assert lines[1].startswith("Fine-tuning on SST-2, bfloat16: 2.00 min, accuracy 0.500; A peer: ")
    assert lines[2].startswith("note: KerasHub is not measured")
    result = json.loads((tmp_path / "results" / "fine_tuning.json").read_text())
    (row,) = result["comparisons"]
    assert (row["name"], row["peer"], row["ours"]) == (
        "Fine-tuning on SST-2, bfloat16",
        "A peer",
        2.0,
    )
    assert row["scores"] == ["accuracy 0.500", "accuracy 0.750"]
    assert result["left_out"] == ["KerasHub"]
