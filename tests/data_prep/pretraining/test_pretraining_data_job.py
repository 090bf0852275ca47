"""Settings that create_pretraining_data rejects before the work begins."""

import pytest

from bert_tf.errors import InputError
from data_prep.pretraining import JobSettings, job
from tests.data_prep.pretraining.pretraining_records import CORPUS_FILE, VOCAB_FILE
from tests.settings import resolved


@pytest.mark.parametrize(("outputs", "message"), [
    ("{}/out,{}/in", r"`output_file`=.*/in: is an input file too"),
    ("{}/../{name}/in", r"`output_file`=.*/in: is an input file too"),
    ("{}/out,{}/./out", r"`output_file`=.*/out: is named twice"),
    ("{}", r"`output_file`=.*: is a directory"),
    ("gs://b//a.tfrecord", "^`output_file`=gs://b//a.tfrecord: each part between slashes must be a name"),
    ("{}/out,", r"`output_file`=.*/out,: one of the names is empty"),
])
def test_invalid_outputs(tmp_path, outputs, message):
    outputs = outputs.replace("{}", str(tmp_path)).replace("{name}", tmp_path.name).split(",")

    with pytest.raises(InputError, match=message):
        job.check_outputs([str(tmp_path / "in")], outputs)


def test_outputs_that_would_be_inputs_of_the_next_run(tmp_path):
    (tmp_path / "file").write_text("x")
    inputs = [str(tmp_path / "texts" / "in")]
    (tmp_path / "texts").mkdir()

    with pytest.raises(InputError, match=r"texts/new/out: lies where `input_file`=x,.*/texts looks"):
        job.check_outputs(inputs, [f"{tmp_path}/texts/new/out"], f"x,{tmp_path}/texts")
    with pytest.raises(InputError, match=r"texts/out.x: lies where `input_file`=.*/t\*/\*.x looks"):
        job.check_outputs(inputs, [f"{tmp_path}/texts/out.x"], f"{tmp_path}/t*/*.x")
    with pytest.raises(InputError, match=r"new/out.x: lies where"):  # the next run would find texts/new, and read it
        job.check_outputs(inputs, [f"{tmp_path}/texts/new/out.x"], f"{tmp_path}/texts/*")
    job.check_outputs(inputs, [f"{tmp_path}/texts/new/out.x"], f"{tmp_path}/texts/*.x")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"`output_file`=.*/link: is a link to .*/nowhere, which is not there"):
        job.check_outputs(inputs, [f"{tmp_path}/link"], f"{tmp_path}/texts")
    with pytest.raises(InputError, match=r"out: .*/file is a file, not a directory"):
        job.check_outputs(inputs, [f"{tmp_path}/file/new/out"], f"{tmp_path}/texts")


@pytest.mark.parametrize(("settings", "message"), [
    ({}, "`input_file` is required"),
    ({"input_file": CORPUS_FILE}, "`output_file` is required"),
    ({"input_file": CORPUS_FILE, "output_file": "x"}, "`vocab_file` is required"),
    ({"input_file": CORPUS_FILE, "output_file": "x", "vocab_file": "none.txt"}, "`vocab_file`=none.txt: no such file"),
    ({"input_file": CORPUS_FILE, "output_file": "x", "vocab_file": VOCAB_FILE, "beam_options": "--region=x"},
     "`beam_options`=--region=x: is for a `runner` of Apache Beam, and that is local"),
    ({"input_file": CORPUS_FILE, "output_file": VOCAB_FILE, "vocab_file": VOCAB_FILE},
     f"`output_file`={VOCAB_FILE}: is `vocab_file`, which would be lost"),
])
def test_invalid_settings(settings, message):
    with pytest.raises(InputError, match=f"^{message}$"):
        job.run(resolved(JobSettings(**settings)))


def test_runner_without_apache_beam(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"`runner`=spark: Apache Beam is not installed: pip install -e '\.\[beam\]'"):
        job.choose_runner(JobSettings(runner="spark"), [])
