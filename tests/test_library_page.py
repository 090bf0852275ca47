"""The code blocks of docs/library.md run in order, in one fresh process, and print what the page says."""

import os
import subprocess
import sys

import pytest

from tests.test_documentation import ROOT, split_blocks


@pytest.mark.timeout(180)
def test_the_page_runs(tmp_path):
    blocks, _ = split_blocks((ROOT / "docs/library.md").read_text(encoding="utf-8"))
    lines = [line for language, block in blocks if language == "python" for line in block]
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
