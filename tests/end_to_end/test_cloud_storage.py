"""Scripts with every path in Cloud Storage write the same bytes as with local files.

They use TensorFlow's client for gs://; the server is tests.cloud_storage. Other tests read and
write each kind of file on ram://, which stands for an object store.
"""

import csv
import re
import signal
from typing import NamedTuple

import pytest

from bert_tf.config import BertConfig
from tests import scripts
from tests.cloud_storage import CloudStorage
from tests.end_to_end import toy_files
from tests.end_to_end.toy_files import assert_same_tensors

VOCAB_SIZE = 301
S = 24
P = 4
STEPS = 30
SAVE_STEPS = 10
LENGTHS = {"max_seq_length": S, "max_predictions_per_seq": P}
CLOUD = "gs://bucket/a b#c%20%dgü&=+"  # Characters that are special in URLs and shells.

# The first test of a fixture waits for some ten scripts.
pytestmark = [pytest.mark.extra_large, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def cloud(tmp_path_factory):
    """The Cloud Storage that all scripts of this module see.

    Its user may do nothing with the bucket itself, like a "Storage Object Admin".
    """
    with CloudStorage(
        tmp_path_factory.mktemp("cloud"),
        forbidden={"bucket": {}, "archive": {"write"}, "secret": {"read", "list", "write"}},
    ) as cloud:
        yield cloud


@pytest.fixture(scope="module")
def local(cloud, tmp_path_factory):
    """A directory with a corpus, a config, and a task.

    CLOUD contains copies of these, and its own outputs.
    """
    folder = tmp_path_factory.mktemp("line")
    toy_files.write_corpus_and_task(folder, 20)
    config = BertConfig(VOCAB_SIZE, 12, 1, 3, 28, max_position_embeddings=32, type_vocab_size=2)
    (folder / "bert_config.json").write_text(config.to_json())
    cloud.upload(folder, CLOUD)
    return folder


def at(root, **files):
    """Flags whose values are files and directories below a root."""
    return {flag: f"{root}/{name}" for flag, name in files.items()}


def model(root):
    return {
        **at(root, bert_config_file="bert_config.json", vocab_file="vocab.txt"),
        "max_seq_length": S,
    }


def pretraining(root):
    return {
        **at(
            root,
            bert_config_file="bert_config.json",
            input_file="records/*.tfrecord",
            output_dir="pretrained",
        ),
        **LENGTHS,
        "do_train": True,
        "train_batch_size": 6,
        "num_train_steps": STEPS,
        "num_warmup_steps": 2,
        "save_checkpoints_steps": SAVE_STEPS,
        "learning_rate": 1e-3,
        "iterations_per_loop": 1,
    }


@pytest.fixture(scope="module")
def data(local):
    """`local` with a vocabulary and records, also in the cloud."""
    for root in (local, CLOUD):
        scripts.succeed(
            "data_prep.learn_vocab",
            vocab_size=VOCAB_SIZE,
            num_unused=5,
            **at(root, input_file="train.txt", vocab_file="vocab.txt"),
        )
        (local / "records").mkdir(exist_ok=True)
        scripts.succeed(
            "data_prep.create_pretraining_data",
            dupe_factor=2,
            **LENGTHS,
            **at(
                root,
                input_file="train.txt",
                output_file="records/train.tfrecord",
                vocab_file="vocab.txt",
            ),
        )
    return local


class KilledRun(NamedTuple):
    """A run in pretrained/ of the cloud that was killed twice, and its last process."""

    resumed_step: int
    requests: list  # Names of the objects that the last process requested.


@pytest.fixture(scope="module")
def killed_run(cloud, data):
    """The KilledRun; the same run in pretrained/ of `data` was not killed."""
    scripts.succeed("run.run_pretraining", **pretraining(data))
    command = scripts.command("run.run_pretraining", **pretraining(CLOUD))
    # Killed before its second checkpoint.
    with cloud.hold(rf"pretrained/.*ckpt-{2 * SAVE_STEPS}\.index"):
        status, _ = scripts.kill_when(
            command, None, lambda: "checkpoint" in cloud.names(f"{CLOUD}/pretrained")
        )
    assert status == -signal.SIGKILL
    first = latest_step(cloud)
    assert first < STEPS
    # Killed during the last upload of a checkpoint.
    with cloud.hold(r"pretrained/.*ckpt-\d+\.index"):
        before = len(cloud.requests)
        scripts.kill_when(
            command, None, lambda: any(kind == "held" for kind, _ in cloud.requests[before:])
        )
    assert latest_step(cloud) == first
    # It was never written.
    assert f"ckpt-{first + SAVE_STEPS}.index" not in cloud.names(f"{CLOUD}/pretrained")
    before = len(cloud.requests)
    output = scripts.succeed("run.run_pretraining", **pretraining(CLOUD))
    assert f"{CLOUD}/pretrained: resuming at step {first} of {STEPS}" in output
    return KilledRun(first, [name for _, name in cloud.requests[before:]])


def latest_step(cloud):
    """Returns the step of the latest checkpoint in the file `checkpoint`."""
    return int(
        re.match(
            rb'model_checkpoint_path: ".*ckpt-(\d+)"', cloud.get(f"{CLOUD}/pretrained/checkpoint")
        )[1]
    )


def assert_nothing_unfinished(cloud, path):
    assert [
        name for name in cloud.names(path) if re.search(r"partial|unfinished|_temp|tempstate", name)
    ] == []


def test_vocabulary_and_records_equal_those_of_local_files(cloud, data):
    assert cloud.get(f"{CLOUD}/vocab.txt") == (data / "vocab.txt").read_bytes()
    names = sorted(path.name for path in (data / "records").iterdir())
    assert cloud.names(f"{CLOUD}/records") == names
    for name in names:
        if name.endswith(".tfrecord"):
            assert cloud.get(f"{CLOUD}/records/{name}") == (data / "records" / name).read_bytes()


def test_a_killed_run_leaves_no_sentences_and_can_be_repeated(cloud, local):
    flags = {"format": "text", "num_output_shards": 4}
    scripts.succeed(
        "data_prep.split_sentences",
        **at(local, input_file="train.txt", output_dir="sentences"),
        **flags,
    )
    paths = at(CLOUD, input_file="train.txt", output_dir="sentences")
    before = len(cloud.requests)
    with cloud.hold(r"sentences/sentences-00003"):
        scripts.kill_when(
            scripts.command("data_prep.split_sentences", **paths, **flags),
            None,
            lambda: any(kind == "held" for kind, _ in cloud.requests[before:]),
        )
    assert not cloud.names(f"{CLOUD}/sentences")
    scripts.succeed("data_prep.split_sentences", **paths, **flags)
    names = sorted(path.name for path in (local / "sentences").iterdir())
    assert cloud.names(f"{CLOUD}/sentences") == names
    for name in names[:4]:
        assert cloud.get(f"{CLOUD}/sentences/{name}") == (local / "sentences" / name).read_bytes()


@pytest.mark.usefixtures("killed_run")
def test_pretraining_that_is_killed_twice_gives_the_same_bits(cloud, data, tmp_path):
    output = cloud.download(f"{CLOUD}/pretrained", tmp_path)
    expected_output = data / "pretrained"
    assert_same_tensors(output / f"ckpt-{STEPS}", expected_output / f"ckpt-{STEPS}")
    assert {path.name for path in output.glob("ckpt-*")} == {
        path.name for path in expected_output.glob("ckpt-*")
    }
    rows, expected = (
        list(csv.DictReader(where.joinpath("training_log.csv").open(newline="")))
        for where in (output, expected_output)
    )
    assert rows == expected
    assert [row["step"] for row in rows] == [str(step) for step in range(1, STEPS + 1)]
    assert (output / "loss.png").read_bytes().startswith(b"\x89PNG")
    assert list(output.glob("*tfevents*"))
    assert_nothing_unfinished(cloud, f"{CLOUD}/pretrained")


def test_steps_between_checkpoints_send_no_requests(killed_run):
    """The exceptions are the logs, and a list every 5 s.

    Records are read ahead.
    """
    names = [
        name.partition("/pretrained/")[2] for name in killed_run.requests if "/records/" not in name
    ]
    for step in range(killed_run.resumed_step + 2 * SAVE_STEPS, STEPS + 1, SAVE_STEPS):
        end = names.index(next(name for name in names if name.startswith(f"ckpt-{step}")))
        begin = max(
            number for number, name in enumerate(names[:end]) if name.startswith("checkpoint")
        )
        between = names[begin + 1 : end]
        assert [
            name
            for name in between
            if name and not name.startswith(("training_log.csv", "events."))
        ] == []
        assert between.count("") < SAVE_STEPS


@pytest.mark.usefixtures("killed_run")
def test_export_gets_the_next_version_and_fills_masks(cloud):
    cloud.put(f"{CLOUD}/served/fill/3/saved_model.pb", b"of an earlier model")
    output = scripts.succeed(
        "run.export_saved_model",
        task="masked_lm",
        top_k=3,
        **model(CLOUD),
        **at(CLOUD, init_checkpoint="pretrained", export_dir="served/fill"),
    )
    assert output.startswith(f"{CLOUD}/served/fill/4: SavedModel of a masked_lm")
    assert_nothing_unfinished(cloud, f"{CLOUD}/served")
    lines = scripts.succeed(
        "run.fill_mask", model=f"{CLOUD}/served/fill", text="The [MASK]."
    ).splitlines()
    assert lines[0] == "The [MASK]."
    assert len(lines[1].split()) == 6


@pytest.mark.usefixtures("killed_run")
def test_fine_tuning_equals_that_of_local_files(cloud, data, tmp_path):
    for root in (data, CLOUD):
        scripts.succeed(
            "run.run_classifier",
            task_name="custom",
            do_train=True,
            do_eval=True,
            do_predict=True,
            eval_steps=3,
            train_batch_size=5,
            num_train_epochs=2.0,
            learning_rate=1e-3,
            **model(root),
            **at(root, data_dir="task", init_checkpoint="pretrained", output_dir="classifier"),
        )
    output = cloud.download(f"{CLOUD}/classifier", tmp_path)
    for name in ("test_results.tsv", "eval_log.csv", "training_log.csv", "task.json"):
        assert (output / name).read_bytes() == (data / "classifier" / name).read_bytes(), name
    names = [
        {
            re.sub(r"tfevents\..*", "tfevents", path.relative_to(where).as_posix())
            for path in where.rglob("*")
            if path.is_file()
        }
        for where in (output, data / "classifier")
    ]
    assert names[0] == names[1]
    assert_nothing_unfinished(cloud, f"{CLOUD}/classifier")


@pytest.mark.parametrize(
    ("root", "message"),
    [("gs://nothing/x", "bucket does not exist"), ("gs://secret/x", "does not have storage")],
)
def test_roots_without_access(data, root, message):
    for module, flags in (
        (
            "data_prep.learn_vocab",
            {**at(root, input_file="train.txt"), "vocab_file": data / "never.txt"},
        ),
        ("run.run_pretraining", {**pretraining(data), "output_dir": f"{root}/run"}),
        ("run.fill_mask", {**model(data), **at(root, init_checkpoint="model"), "text": "[MASK]"}),
    ):
        assert re.search(f"{root}.*{message}", scripts.fail(module, **flags)), module


def test_a_bucket_that_can_only_be_read(data):
    assert re.search(
        "gs://archive/vocab.txt.*does not have storage",
        scripts.fail(
            "data_prep.learn_vocab",
            input_file=data / "train.txt",
            vocab_file="gs://archive/vocab.txt",
            vocab_size=VOCAB_SIZE,
        ),
    )


def test_missing_credentials(data, monkeypatch):
    monkeypatch.delenv("GOOGLE_AUTH_TOKEN_FOR_TESTING")
    assert re.search(
        "gs://bucket/x.*gcloud auth application-default login",
        scripts.fail("run.run_pretraining", **{**pretraining(data), "output_dir": "gs://bucket/x"}),
    )
