"""Settings of create_pretraining_data, and the checks before the work begins."""

import pytest

from bert_tf.errors import InputError
from data_prep.pretraining import InstanceSettings, JobSettings, job
from tests.data_prep.pretraining.pretraining_records import CORPUS_FILE, VOCAB_FILE
from tests.errors import Message, raises_message, rejects
from tests.settings import resolved


@pytest.mark.parametrize(
    ("settings_class", "settings", "message"),
    [
        (InstanceSettings, {"max_seq_length": 4}, "`max_seq_length`=4: must be at least 5"),
        (
            InstanceSettings,
            {"max_predictions_per_seq": 65536},
            "`max_predictions_per_seq`=65536: .* at most 65535",
        ),
        (
            InstanceSettings,
            {"objective": "full_sentences", "short_seq_prob": 0.5},
            r"`short_seq_prob`=0\.5: cannot be combined with `objective`=full_sentences",
        ),
    ],
)
def test_invalid_settings(settings_class, settings, message):
    with pytest.raises(InputError, match=message):
        settings_class(**settings)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, 10),
        ({"masking": "dynamic"}, 1),
        ({"dupe_factor": 3}, 3),
        ({"dupe_factor": 4, "masking": "dynamic"}, 4),
    ],
)
def test_number_of_passes(settings, expected):
    assert InstanceSettings(**settings).num_passes == expected


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ("out,texts/in", Message(None, "texts/in", "would overwrite an input file")),
        ("texts/../texts/in", Message(None, "texts/in: ", "would overwrite an input file")),
        ("out,./out", Message(None, "./out", "occurs twice")),
        ("texts", Message(None, "texts", "must be a file", "is a directory")),
        ("out,", Message(None, "out,", "contains an empty path")),
        (
            "texts/new/out",
            Message(None, "texts/new/out", "would be read", "next run as `input_file`=texts"),
        ),
        ("link", Message(None, "link", "is a symbolic link to", "nowhere", "does not exist")),
    ],
)
def test_invalid_outputs(tmp_path, monkeypatch, outputs, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to("nowhere")
    (tmp_path / "texts").mkdir()
    with raises_message(message):
        job.check_outputs(["texts/in"], outputs.split(","), "texts")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"beam_options": "--region=x"},
            Message("beam_options", "cannot be combined with `runner`=local", value="--region=x"),
        ),
        (
            {"output_file": VOCAB_FILE},
            Message(
                "output_file",
                "would overwrite `vocab_file`",
                "choose another path",
                value=VOCAB_FILE,
            ),
        ),
    ],
)
def test_invalid_combinations(settings, message):
    settings = {"input_file": CORPUS_FILE, "output_file": "x", "vocab_file": VOCAB_FILE, **settings}
    with raises_message(message):
        job.run(resolved(JobSettings(**settings)))


def test_runner_without_apache_beam(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with rejects("runner", "requires Apache Beam", "run pip install -e '.[beam]'", value="spark"):
        job.choose_runner(JobSettings(runner="spark"), [])
