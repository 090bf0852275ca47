"""The pipeline on Beam's own runner: with worker processes where they matter, elsewhere in this process."""

import gzip
import pathlib
import pydoc_data.topics
import re
import time

import pytest

pytest.importorskip("apache_beam")

from apache_beam.options.pipeline_options import PipelineOptions

from bert_tf.errors import InputError
from bert_tf.tokenization import BertTokenizer
from data_prep.pretraining import InstanceSettings, JobSettings, beam_runner, job, local_runner
from tests import scripts
from tests.data_prep.pretraining import pretraining_records

SEED, NUM_SHARDS, NUM_WORKERS = 5, 7, 3
SETTINGS = {"max_seq_length": 48, "max_predictions_per_seq": 6, "dupe_factor": 2, "do_whole_word_mask": True}
IN_THIS_PROCESS = PipelineOptions(
    ["--runner=DirectRunner", "--direct_running_mode=in_memory", "--allow_unsafe_triggers"])


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """Two files, one of them .gz; a document continues from the first in the second."""
    folder = tmp_path_factory.mktemp("text")
    lines = [line for topic in pydoc_data.topics.topics.values() for line in topic.splitlines() if line.strip()]
    documents = ["\n".join(lines[start:start + 13]) for start in range(0, 2600, 13)]
    (folder / "a.txt").write_text("\n\n".join(documents[:90]) + "\n")
    with gzip.open(folder / "b.txt.gz", "wt") as file:
        file.write("\n\n".join(documents[90:]))
    return [str(folder / name) for name in ("a.txt", "b.txt.gz")]


@pytest.fixture(scope="module")
def tokenizer():
    return BertTokenizer(pretraining_records.VOCAB_FILE)


@pytest.fixture(scope="module")
def made_locally(texts, tokenizer, tmp_path_factory):
    """The folder of the local runner's records, and its Summary."""
    folder = tmp_path_factory.mktemp("local")
    return folder, local_runner.create_pretraining_data(
        texts, [str(folder / "a.tfrecord")], tokenizer, InstanceSettings(**SETTINGS), SEED,
        num_output_shards=NUM_SHARDS, num_workers=1)


def run_in_this_process(texts, tokenizer, folder, announce=print, **settings):
    return beam_runner.create_pretraining_data(
        texts, [str(folder / "a.tfrecord")], tokenizer, InstanceSettings(**{**SETTINGS, **settings}), SEED,
        IN_THIS_PROCESS, num_output_shards=NUM_SHARDS, announce=announce)


def descendants(process):
    """Process ids of all that a process has started, and these in turn, that are Beam's workers."""
    found, parents = set(), {process.pid}
    for path in sorted(pathlib.Path("/proc").glob("[0-9]*"), key=lambda path: int(path.name)):
        try:
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            if parent in parents:
                parents.add(int(path.name))
                if b"-m\0apache_beam.runners.worker.sdk_worker_main" in (path / "cmdline").read_bytes():
                    found.add(int(path.name))
        except OSError:  # it has ended
            continue
    return found


def test_worker_processes_write_the_bytes_of_the_local_runner(made_locally, texts, tmp_path):
    folder, summary = made_locally
    command = scripts.command(
        "data_prep.create_pretraining_data", runner="direct", num_workers=NUM_WORKERS, input_file=",".join(texts),
        output_file="a.tfrecord", vocab_file=pretraining_records.VOCAB_FILE, random_seed=SEED,
        num_output_shards=NUM_SHARDS, **SETTINGS)
    workers = set()
    with scripts.Process(command, tmp_path) as process:
        while process.poll() is None:
            workers |= descendants(process)
            time.sleep(0.2)
        output, errors = process.communicate()

    assert process.returncode == 0, errors[-3000:]
    assert len(workers) == NUM_WORKERS
    assert pretraining_records.contents(tmp_path) == pretraining_records.contents(folder)
    assert len(pretraining_records.contents(folder)) == NUM_SHARDS
    assert (tmp_path / "a.tfrecord.manifest.json").read_text() == (folder / "a.tfrecord.manifest.json").read_text()
    named = re.sub(r"`(\w+)`", r"--\1", str(summary))
    without_time = [line for line in named.splitlines() if not line.startswith("took")]
    assert [line for line in output.splitlines() if not line.startswith("took")] == without_time


def test_one_worker_process_makes_the_same(made_locally, texts, tokenizer, tmp_path):
    beam_runner.create_pretraining_data(
        texts, [str(tmp_path / "a.tfrecord")], tokenizer, InstanceSettings(**SETTINGS), SEED,
        beam_runner.make_options("direct", num_workers=1), num_output_shards=NUM_SHARDS)
    assert pretraining_records.contents(tmp_path) == pretraining_records.contents(made_locally[0])


def test_unmasked_records_and_what_a_second_run_makes(texts, tokenizer, tmp_path, capsys):
    outputs = [tmp_path / name for name in ("local", "beam")]
    local_runner.create_pretraining_data(
        texts, [str(outputs[0] / "a.tfrecord")], tokenizer, InstanceSettings(**SETTINGS, masking="dynamic"), SEED,
        num_output_shards=NUM_SHARDS, num_workers=1)
    first = run_in_this_process(texts, tokenizer, outputs[1], masking="dynamic")
    assert first.num_made == first.num_shards == NUM_SHARDS
    assert pretraining_records.contents(outputs[1]) == pretraining_records.contents(outputs[0])

    (outputs[1] / "a-00002-of-00007.tfrecord").unlink()
    second = run_in_this_process(texts, tokenizer, outputs[1], masking="dynamic")
    assert (second.num_made, second.counts) == (1, first.counts)
    assert 0 < second.num_bytes_made < first.num_bytes_made / 3
    assert pretraining_records.contents(outputs[1]) == pretraining_records.contents(outputs[0])
    run_in_this_process(texts, tokenizer, outputs[1], masking="dynamic")
    assert "is finished already" in capsys.readouterr().out
    with pytest.raises(ValueError, match="`masking` was dynamic, now static"):
        run_in_this_process(texts, tokenizer, outputs[1])


@pytest.mark.parametrize("settings", [
    {"objective": "segment_pairs"}, {"objective": "sentence_order", "pack_sequences": True},
    {"objective": "full_sentences", "masking": "dynamic"}, {"objective": "doc_sentences", "pack_sequences": True}])
def test_records_of_every_objective(texts, tokenizer, tmp_path, settings):
    local_runner.create_pretraining_data(
        texts, [str(tmp_path / "local" / "a.tfrecord")], tokenizer, InstanceSettings(**SETTINGS, **settings), SEED,
        num_output_shards=NUM_SHARDS, num_workers=1)
    run_in_this_process(texts, tokenizer, tmp_path / "beam", **settings)
    assert pretraining_records.contents(tmp_path / "beam") == pretraining_records.contents(tmp_path / "local")
    with pytest.raises(ValueError, match=f"`objective` was {settings['objective']}, now sentence_pairs"):
        run_in_this_process(texts, tokenizer, tmp_path / "beam", **{**settings, "objective": "sentence_pairs"})


def test_a_mistake_in_the_text_is_told_as_the_local_runner_does(texts, tokenizer, tmp_path):
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"word " * 200 + b"\n\n" + b"a line\n\n" * 200)  # the first shard is the first document alone
    with pytest.raises(ValueError, match=r"^shard \d of 7, from byte \d+ of /\S*bad\.txt, would be of one document: "):
        run_in_this_process([str(bad)], tokenizer, tmp_path / "made")
    assert not [*(tmp_path / "made").glob("*.partial")]
    (tmp_path / "full" / "a-00000-of-00007.tfrecord.partial").mkdir(parents=True)
    with pytest.raises(OSError, match=r"^/\S*a-00000-of-00007\.tfrecord: cannot be written: Is a directory$"):
        run_in_this_process(texts, tokenizer, tmp_path / "full")


def test_shards_that_are_nowhere_after_the_run(texts, tokenizer, tmp_path, monkeypatch):
    monkeypatch.setattr(beam_runner, "note_in_manifest", lambda *_: None)
    with pytest.raises(OSError, match=r"a\.tfrecord\.manifest\.json: 7 of 7 shards are not to be found after the run: "
                                      "workers must write to a file system that this machine can read"):
        run_in_this_process(texts, tokenizer, tmp_path)


@pytest.mark.parametrize(("runner", "beam_options", "expected"), [
    ("flink", "--flink_master=host:8081 --parallelism=8 --environment_type=LOOPBACK",
     {"runner": "FlinkRunner", "flink_master": "host:8081", "parallelism": 8, "environment_type": "LOOPBACK"}),
    ("spark", "--spark_master_url=spark://host:7077 --own='two words'",
     {"runner": "SparkRunner", "spark_master_url": "spark://host:7077", "own": "two words"}),
    ("direct", "--direct_num_workers=2 --job_name=records",
     {"runner": "DirectRunner", "job_name": "records", "direct_num_workers": 2,
      "direct_running_mode": "multi_processing"}),
])
def test_options_pass_through(runner, beam_options, expected):
    options = beam_runner.make_options(runner, beam_options).get_all_options(retain_unknown_options=True)
    assert {name: options[name] for name in expected} == expected


def choose(runner, beam_options="", num_workers=None, files=()):
    return job.choose_runner(JobSettings(runner=runner, beam_options=beam_options, num_workers=num_workers), files)


def test_wrong_options():
    with pytest.raises(ValueError, match="`beam_options`=--jobname=x: Apache Beam has no option --jobname"):
        choose("direct", "--jobname=x")
    with pytest.raises(ValueError, match="`num_workers`=2: is for `runner`=local and `runner`=direct; give "
                                         "`beam_options` what flink is to be told of its workers"):
        choose("flink", num_workers=2)
    with pytest.raises(ValueError, match=r"`runner`=dataflow: corpus/a\.txt: is on this machine, where Dataflow's "
                                         "workers cannot open it: give a path that begins with gs://"):
        choose("dataflow", files=["gs://bucket/vocab.txt", "corpus/a.txt"])
    with pytest.raises(ValueError, match="`runner`=spark: corpus: workers do not run in this folder: give the full "
                                         "path"):
        choose("spark", files=["gs://bucket/vocab.txt", "/shared/text", "corpus"])


@pytest.mark.parametrize(("runner", "beam_options", "message"), [
    ("direct", "--job_name='x", "`beam_options`=--job_name='x: No closing quotation"),
    ("direct", "--direct_num_workers=two",
     "`beam_options`=--direct_num_workers=two: argument --direct_num_workers: invalid int value: 'two'"),
    ("dataflow", "--project=some-project",
     "`beam_options`=--project=some-project: .*Missing GCS path option: temp_location"),
])
def test_options_that_beam_refuses(capfd, runner, beam_options, message):
    with pytest.raises(InputError, match=message):
        choose(runner, beam_options)
    assert "usage" not in capfd.readouterr().err
