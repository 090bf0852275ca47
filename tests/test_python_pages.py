"""The Python code of the pages runs and prints what its comments say."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from bert_tf import models
from bert_tf.tasks.metadata import TaskMetadata
from tests import scripts, toy_runs
from tests.pages import ROOT, code_blocks, run_commands

SECOND_SECTION = "## Fine-tune with fit\n"


def run_blocks(text, folder):
    """Runs the Python blocks of a part of a page in a directory; they must not print warnings."""
    lines = [
        line for language, block in code_blocks(text) if language == "python" for line in block
    ]
    script = folder / "page.py"
    script.write_text("\n".join(lines), encoding="utf-8")
    process = subprocess.run(
        [sys.executable, script],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "TF_CPP_MIN_LOG_LEVEL": "3",
            "CUDA_VISIBLE_DEVICES": "",
        },
    )
    assert process.returncode == 0, process.stderr[-3000:]
    expected = [line.removeprefix("#> ") for line in lines if line.startswith("#> ")]
    assert expected
    assert [line for line in process.stdout.splitlines() if line in expected] == expected, (
        process.stdout
    )
    assert "arning" not in process.stderr, process.stderr


@pytest.fixture(scope="module")
def sections():
    """Returns the first section of the page and the others."""
    return (ROOT / "docs/library.md").read_text(encoding="utf-8").split(SECOND_SECTION)


@pytest.mark.extra_large
def test_first_section(sections, tmp_path, reference):
    metadata = TaskMetadata("classifier", 128, True, ("0", "1"), pairs=True)
    toy_runs.write(
        tmp_path,
        reference,
        {
            "mrpc": (metadata, lambda config: models.BertClassifier(config, 2)),
            "pretrained": (None, models.BertPretrainer),
        },
        max_position_embeddings=128,
    )
    run_blocks(sections[0], tmp_path)


@pytest.mark.extra_large
@pytest.mark.timeout(180)
def test_other_sections(sections, tmp_path):
    run_blocks(sections[1], tmp_path)


@pytest.mark.extra_large
@pytest.mark.timeout(180)
def test_page_for_tfbert(tmp_path, reference):
    toy_runs.write(
        tmp_path,
        reference,
        {"bert": (None, models.BertPretrainer), "ner": toy_runs.TASKS["tagger"]},
    )
    run_blocks((ROOT / "docs/from_tfbert.md").read_text(encoding="utf-8"), tmp_path)


CLIENT = """
import threading
import urllib.request

threading.Thread(target=server.serve_forever, daemon=True).start()
address = f"http://localhost:{server.server_port}"
print(urllib.request.urlopen(f"{address}/health").read().decode())
#> {"status": "ready"}
request = urllib.request.Request(address, json.dumps({"texts": texts}).encode())
answer = json.load(urllib.request.urlopen(request))["embeddings"]
print(abs(bert_tf.load("minilm", kind="encoder").encode(texts) - answer).max() < 1e-4)
#> True
try:
    urllib.request.urlopen(urllib.request.Request(address, b'{"texts": [3]}'))
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode())
#> 400 {"error": "`texts` must contain texts, not int"}
try:
    urllib.request.urlopen(f"{address}/other")
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode())
#> 404 {"error": "not found"}
"""


@pytest.mark.extra_large
@pytest.mark.timeout(180)
def test_page_for_embeddings(tmp_path, reference):
    """The server runs in a thread, on a free port."""
    toy_runs.write(
        tmp_path,
        reference,
        {"minilm": (None, models.BertPretrainer)},
        hidden_size=384,
        max_position_embeddings=128,
    )
    (tmp_path / "texts.txt").write_text("A cat sat on the mat.\n")
    modules = run_commands("docs/embeddings.md", tmp_path)
    assert modules == ["run.predict", "run.export_saved_model"]
    for path in (tmp_path / "served").iterdir():
        shutil.copy(path, tmp_path)
    page = (ROOT / "docs/embeddings.md").read_text(encoding="utf-8")
    for text, replacement in (("server.serve_forever()\n", CLIENT), ('("", 8080)', '("", 0)')):
        assert page.count(text) == 1
        page = page.replace(text, replacement)
    run_blocks(page, tmp_path)


@pytest.mark.extra_large
@pytest.mark.timeout(180)
def test_migration_page(tmp_path, reference):
    toy_runs.write(tmp_path, reference, {"bert": (None, models.BertPretrainer)})
    scripts.succeed(
        "run.convert_checkpoint", tmp_path, input="bert", output="hf", format="huggingface"
    )
    toy_runs.write(
        tmp_path,
        reference,
        {"original": (None, models.BertPretrainer)},
        hidden_size=384,
        max_position_embeddings=256,
    )
    scripts.succeed(
        "run.convert_checkpoint",
        tmp_path,
        input="original",
        output="all-MiniLM-L6-v2",
        format="huggingface",
    )
    for name, content in {
        "modules.json": [
            {"type": "sentence_transformers.models.Transformer", "path": ""},
            {"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"},
            {"type": "sentence_transformers.models.Normalize", "path": "2_Normalize"},
        ],
        "1_Pooling/config.json": {"pooling_mode_mean_tokens": True},
    }.items():
        path = tmp_path / "all-MiniLM-L6-v2" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(content))
    scripts.succeed(
        "run.export_saved_model",
        tmp_path,
        init_checkpoint="all-MiniLM-L6-v2",
        export_dir="embeddings",
    )
    run_blocks((ROOT / "docs/migration.md").read_text(encoding="utf-8"), tmp_path)
