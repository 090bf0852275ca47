"""docs/classifier.ipynb runs to its last cell, with a toy model as its checkpoint."""

import json
import os
import pathlib
import sys

import nbclient
import nbformat
import pytest

from bert_tf import models
from tests import scripts, toy_runs

NOTEBOOK = scripts.ROOT / "docs" / "classifier.ipynb"


@pytest.mark.extra_large
@pytest.mark.timeout(240)
def test_the_notebook(tmp_path, reference, monkeypatch):
    toy_runs.write(
        tmp_path,
        reference,
        {"checkpoint": (None, models.BertPretrainer)},
        max_position_embeddings=128,
    )
    monkeypatch.setenv(
        "PATH", os.pathsep.join([str(pathlib.Path(sys.executable).parent), os.environ["PATH"]])
    )
    monkeypatch.setenv("PYTHONPATH", str(scripts.ROOT))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    nbclient.NotebookClient(
        notebook,
        timeout=200,
        kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path)}},
    ).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    # The figures show the confusion matrix, the loss, and attention.
    assert sum("image/png" in output.get("data", {}) for output in outputs) == 3
    predictions = "".join(output.text for output in notebook.cells[-2].outputs).splitlines()
    assert [line.split()[0] for line in predictions] == ["out", "export", "lite/model_int8.tflite"]
    labels = json.loads((tmp_path / "out" / "task.json").read_text())["labels"]
    assert labels == ["account", "billing", "delivery"]
    assert all(sum(line.count(label) for label in labels) == 3 for line in predictions)
