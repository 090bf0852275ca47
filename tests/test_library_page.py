"""The code blocks of docs/library.md run and print what the page says; the first section has its own process."""

import os
import subprocess
import sys

import pytest

from bert_tf import models
from bert_tf.model_folder.task_metadata import TaskMetadata
from tests import toy_runs
from tests.test_documentation import ROOT, split_blocks

SECOND_SECTION = "## Fine-tune with fit\n"


@pytest.mark.timeout(180)
@pytest.mark.parametrize("part", [0, 1])
def test_the_page_runs(tmp_path, reference, part):
    card = TaskMetadata("classifier", 128, True, ("0", "1"), pairs=True)
    toy_runs.write(tmp_path, reference, {"mrpc": (card, lambda config: models.BertClassifier(config, 2))},
                   max_position_embeddings=128)
    text = (ROOT / "docs/library.md").read_text(encoding="utf-8").split(SECOND_SECTION)[part]
    lines = [line for language, block in split_blocks(text)[0] if language == "python" for line in block]
    assert lines
    script = tmp_path / "page.py"
    script.write_text("\n".join(lines), encoding="utf-8")
    process = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False, env={
        **os.environ, "PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""})
    assert process.returncode == 0, process.stderr[-3000:]
    expected = [line.removeprefix("#> ") for line in lines if line.startswith("#> ")]
    printed = [line for line in process.stdout.splitlines() if line in expected]
    assert printed == expected, process.stdout
    assert "arning" not in process.stderr, process.stderr
