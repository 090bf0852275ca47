"""The script create_pretraining_data: flags become settings."""

import gzip
import pathlib

from tests import scripts
from tests.data_prep.pretraining.pretraining_records import (
    CORPUS_FILE,
    RUNS,
    VOCAB_FILE,
    digest,
    read_records,
)
from tests.errors import rejects

SCRIPT = "data_prep.create_pretraining_data"


def test_records_match_the_original_bert(tmp_path, write, capsys):
    run = dict(RUNS["wwm"])
    count = run.pop("num_records")
    sha256 = run.pop("sha256")
    _ = run.pop("name")
    text = pathlib.Path(CORPUS_FILE).read_bytes()
    half = text.index(b"\n\n") + 2
    write("1.txt.gz", gzip.compress(text[:half]))
    write("2.txt", text[half:])
    output = tmp_path / "a.tfrecord"
    scripts.run_here(
        SCRIPT, input_file=f"{tmp_path}/*.txt*", output_file=output, vocab_file=VOCAB_FILE, **run
    )
    assert f"{count} records" in capsys.readouterr().out
    assert digest(read_records(output)) == sha256


def test_accents_in_lowercase_text(tmp_path, write, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("vocab.txt", "\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "größe", "grosse"]))
    write("text.txt", "Größe Größe\nGröße\n\nGröße\nGröße Größe\n\n")
    flags = {
        "input_file": "text.txt",
        "output_file": "a.tfrecord",
        "vocab_file": "vocab.txt",
        "dupe_factor": 1,
    }
    scripts.run_here(SCRIPT, **flags, strip_accents=False)
    assert "(0.00% [UNK])" in capsys.readouterr().out
    with rejects(None, "contains a run with `strip_accents` False", "not None"):
        scripts.run_here(SCRIPT, **flags)
    scripts.run_here(SCRIPT, **flags | {"output_file": "b.tfrecord"})
    assert "(100.00% [UNK])" in capsys.readouterr().out
