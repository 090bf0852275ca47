"""The pipeline on the runner of Apache Beam: in worker processes, and in this process."""

import gzip
import pydoc_data.topics

import pytest

pytest.importorskip("apache_beam")

from data_prep.pretraining import InstanceSettings, JobSettings, beam_runner, job
from tests import scripts
from tests.data_prep.pretraining.pretraining_records import VOCAB_FILE, contents
from tests.errors import Message, raises_message, rejects

pytestmark = pytest.mark.extra_large

SEED = 5
NUM_SHARDS = 7
SETTINGS = {"max_seq_length": 48, "max_predictions_per_seq": 6, "dupe_factor": 2}
IN_THIS_PROCESS = {
    "runner": "direct",
    "num_workers": 1,
    "beam_options": "--direct_running_mode=in_memory",
}


@pytest.fixture(scope="module")
def input_file(tmp_path_factory):
    """Two files, one of them .gz. A document continues from the first in the second."""
    folder = tmp_path_factory.mktemp("text")
    lines = [
        line
        for topic in pydoc_data.topics.topics.values()
        for line in topic.splitlines()
        if line.strip()
    ]
    documents = ["\n".join(lines[start : start + 13]) for start in range(0, 2600, 13)]
    (folder / "a.txt").write_text("\n\n".join(documents[:90]) + "\n")
    with gzip.open(folder / "b.txt.gz", "wt") as file:
        file.write("\n\n".join(documents[90:]))
    return ",".join(str(folder / name) for name in ("a.txt", "b.txt.gz"))


def create(folder, texts, runner=IN_THIS_PROCESS, **settings):
    """Creates records; returns their Counts and the created shards.

    Args:
      folder: pathlib.Path of the output directory.
      texts: str. Value of `input_file`.
      runner: Dict of the settings of the runner; empty for the local runner.
      **settings: Settings of the instances.
    """
    return job.run(
        JobSettings(
            input_file=texts,
            output_file=str(folder / "a.tfrecord"),
            vocab_file=VOCAB_FILE,
            random_seed=SEED,
            instances=InstanceSettings(**{**SETTINGS, **settings}),
            num_output_shards=NUM_SHARDS,
            **runner,
        )
    )


def test_worker_processes_create_the_bytes_of_the_local_runner(input_file, tmp_path):
    counts, _ = create(tmp_path / "local", input_file, {}, do_whole_word_mask=True)
    output = scripts.succeed(
        "data_prep.create_pretraining_data",
        runner="direct",
        num_workers=3,
        input_file=input_file,
        output_file=tmp_path / "beam" / "a.tfrecord",
        vocab_file=VOCAB_FILE,
        random_seed=SEED,
        num_output_shards=NUM_SHARDS,
        do_whole_word_mask=True,
        **SETTINGS,
    )
    assert len(contents(tmp_path / "beam")) == NUM_SHARDS
    create(
        tmp_path / "one_worker",
        input_file,
        {"runner": "direct", "num_workers": 1},
        do_whole_word_mask=True,
    )
    expected = {path.name: path.read_bytes() for path in (tmp_path / "local").iterdir()}
    assert len(expected) == 2 * NUM_SHARDS + 1
    for folder in ("beam", "one_worker"):  # With the descriptions of the run and its shards.
        assert {path.name: path.read_bytes() for path in (tmp_path / folder).iterdir()} == expected
    assert set(counts.to_lines(InstanceSettings())[:2]) <= set(output.splitlines())


@pytest.mark.parametrize(
    "settings",
    [
        {"masking": "dynamic"},
        {"objective": "segment_pairs"},
        {"objective": "sentence_order", "pack_sequences": True},
        {"objective": "full_sentences", "masking": "dynamic"},
        {"objective": "doc_sentences", "pack_sequences": True},
    ],
)
def test_records_of_every_objective(input_file, tmp_path, settings):
    create(tmp_path / "local", input_file, {}, **settings)
    create(tmp_path / "beam", input_file, **settings)
    assert contents(tmp_path / "beam") == contents(tmp_path / "local")


def test_a_second_run_creates_only_missing_shards(input_file, tmp_path, capsys):
    counts, created = create(tmp_path, input_file)
    expected = contents(tmp_path)
    assert len(created) == NUM_SHARDS
    (tmp_path / "a-00002-of-00007.tfrecord").unlink()
    assert create(tmp_path, input_file) == (counts, created[2:3])
    assert contents(tmp_path) == expected
    create(tmp_path, input_file)
    assert "is complete; " in capsys.readouterr().out
    with rejects(None, "contains a run with `masking` static", "not dynamic"):
        create(tmp_path, input_file, masking="dynamic")


def test_errors_of_workers(input_file, tmp_path, write, monkeypatch):
    # The first shard has only the first document.
    bad = write("bad.txt", "word " * 200 + "\n\n" + "a line\n\n" * 200)
    with rejects(None, "of 7, from byte", "bad.txt", "one document"):
        create(tmp_path / "new", bad)
    assert not [*(tmp_path / "new").glob("*.partial")]
    (tmp_path / "full" / "a-00000-of-00007.tfrecord.partial").mkdir(parents=True)
    with rejects("a-00000-of-00007.tfrecord", "cannot be written", "Is a directory", error=OSError):
        create(tmp_path / "full", input_file)
    monkeypatch.setattr(beam_runner, "create_shard", lambda shard, settings: None)
    with rejects("a.tfrecord", "7 of 7 shards", "do not exist", error=OSError):
        create(tmp_path / "elsewhere", input_file)


@pytest.mark.parametrize(
    ("runner", "beam_options", "expected"),
    [
        (
            "spark",
            "--spark_master_url=spark://host:7077 --own='two words'",
            {"runner": "SparkRunner", "spark_master_url": "spark://host:7077", "own": "two words"},
        ),
        (
            "dask",
            "--dask_client_address=tcp://host:8786",
            {"address": "tcp://host:8786", "partition_size": 1},
        ),
        (
            "direct",
            "--direct_num_workers=2 --job_name=records",
            {
                "runner": "DirectRunner",
                "job_name": "records",
                "direct_num_workers": 2,
                "direct_running_mode": "multi_processing",
            },
        ),
    ],
)
def test_options(runner, beam_options, expected):
    options = beam_runner.create_options(runner, beam_options).get_all_options(
        retain_unknown_options=True
    )
    assert {name: options[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("settings", "files", "message"),
    [
        (
            {"runner": "direct", "beam_options": "--jobname=x"},
            [],
            Message(None, "--jobname=x", "Apache Beam has no option --jobname"),
        ),
        (
            {"runner": "direct", "beam_options": "--job_name='x"},
            [],
            Message("beam_options", "No closing quotation", value="--job_name='x"),
        ),
        (
            {"runner": "direct", "beam_options": "--direct_num_workers=two"},
            [],
            Message(None, "argument --direct_num_workers", "invalid int value", "'two'"),
        ),
        (
            {"runner": "dataflow", "beam_options": "--project=some-project"},
            [],
            Message(
                "beam_options",
                "Missing GCS path option",
                "temp_location",
                value="--project=some-project",
            ),
        ),
        (
            {"runner": "dask"},
            [],
            Message(
                "runner",
                "requires a cluster",
                "--dask_client_address=tcp://HOST:PORT",
                value="dask",
            ),
        ),
        (
            {"runner": "dask", "beam_options": "--dask_client_address=tcp://host:8786"},
            ["text.txt"],
            Message("runner", "text.txt", "must be an absolute path", value="dask"),
        ),
        (
            {"runner": "dask", "beam_options": "--dask_client_address=x"},
            [],
            Message(
                "beam_options",
                "must be tcp://HOST:PORT",
                "missing port number",
                value="--dask_client_address=x",
            ),
        ),
        (
            {"runner": "dask", "beam_options": "--dask_scheduler_file=/none/at/all"},
            [],
            Message("none/at/all", "does not exist"),
        ),
        (
            {"runner": "dask", "num_workers": 2},
            [],
            Message("num_workers", "only works with `runner`=local or `runner`=direct", value=2),
        ),
        (
            {"runner": "dataflow"},
            ["gs://bucket/vocab.txt", "corpus/a.txt"],
            Message("runner", "corpus/a.txt", "must be a path that begins", value="dataflow"),
        ),
    ],
)
def test_invalid_options(capfd, settings, files, message):
    with raises_message(message):
        job.choose_runner(JobSettings(**settings), files)
    assert "usage" not in capfd.readouterr().err
