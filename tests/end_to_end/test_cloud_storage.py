"""The whole line with every path in Cloud Storage, through TensorFlow's own gs:// client: the same bytes as locally.

The server is ours (tests.cloud_storage), in a network namespace; where none can be had, these tests are skipped.
"""

import collections
import contextlib
import csv
import json
import re
import signal

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.config import BertConfig
from tests import scripts
from tests.cloud_storage import CloudStorage, reason_to_skip
from tests.conftest import REFERENCE
from tests.end_to_end.test_squad import squad_file
from tests.end_to_end.test_text_to_served_model import write_corpus_and_task

VOCAB_SIZE, S, P = 301, 24, 4
STEPS, SAVE_STEPS = 30, 10
LENGTHS = {"max_seq_length": S, "max_predictions_per_seq": P}
CLOUD = "gs://bucket/a b#c%20%dgü&=+"  # what URLs and shells read otherwise stands for itself
CHECKPOINT = re.compile(r"ckpt-(\d+)\.index")

pytestmark = pytest.mark.timeout(300)  # the first test of a fixture waits for some ten scripts


@pytest.fixture(scope="module")
def cloud(tmp_path_factory):
    """The Cloud Storage; while this module's tests run, all scripts see it.

    Its user may do everything with objects and nothing with the bucket itself, as a "Storage Object Admin".
    """
    reason = reason_to_skip()
    if reason:
        pytest.skip(reason)
    cloud = CloudStorage(tmp_path_factory.mktemp("cloud"), buckets=("bucket", "secret", "archive"))
    with cloud.entered(), cloud.ordered(refused={"bucket": ["bucket"], "archive": ["bucket", "write"],
                                                 "secret": ["bucket", "read", "list", "write"]}):
        yield cloud


@pytest.fixture(scope="module")
def local(cloud, tmp_path_factory):
    """A folder with a corpus, a config and two tasks. CLOUD has copies of these, and outputs of its own."""
    folder = tmp_path_factory.mktemp("line")
    write_corpus_and_task(folder, 20)
    squad_file(folder / "squad.json")
    config = BertConfig(VOCAB_SIZE, 12, 1, 3, 28, max_position_embeddings=32, type_vocab_size=2)
    (folder / "bert_config.json").write_text(config.to_json())
    cloud.upload(folder, CLOUD)
    return folder


def at(place, **files):
    """Flags that name files and folders of a place."""
    return {flag: f"{place}/{name}" for flag, name in files.items()}


def model(place):
    return {**at(place, bert_config_file="bert_config.json", vocab_file="vocab.txt"), "max_seq_length": S}


def pretraining(place):
    return {**at(place, bert_config_file="bert_config.json", input_file="records/*.tfrecord", output_dir="pretrained"),
            **LENGTHS, "do_train": True, "train_batch_size": 6, "num_train_steps": STEPS, "num_warmup_steps": 2,
            "save_checkpoints_steps": SAVE_STEPS, "learning_rate": 1e-3, "iterations_per_loop": 1}


def classification(place):
    return {**model(place), **at(place, data_dir="task", init_checkpoint="pretrained", output_dir="classifier"),
            "task_name": "own", "do_train": True, "do_eval": True, "do_predict": True, "eval_steps": 3,
            "train_batch_size": 5, "num_train_epochs": 2.0, "learning_rate": 1e-3, "iterations_per_loop": 1}


@pytest.fixture(scope="module")
def data(cloud, local):
    """`local`, with a vocabulary and records, there and in the cloud; the vocabulary's upload breaks once."""
    for place, orders in ((local, {}), (CLOUD, {"cut": "vocab.txt"})):
        with cloud.ordered(**orders):
            scripts.succeed("data_prep.learn_vocab", vocab_size=VOCAB_SIZE, num_unused=5,
                            **at(place, input_file="train.txt", vocab_file="vocab.txt"))
        (local / "records").mkdir(exist_ok=True)
        scripts.succeed("data_prep.create_pretraining_data", dupe_factor=2, **LENGTHS,
                        **at(place, input_file="train.txt", output_file="records/train.tfrecord",
                             vocab_file="vocab.txt"))
    return local


@pytest.fixture(scope="module")
def pretrained(cloud, data):
    """`data`, with a run in pretrained/; its step after two kills in the cloud, and the requests of its last part."""
    scripts.succeed("run.run_pretraining", **pretraining(data))
    command = scripts.command("run.run_pretraining", **pretraining(CLOUD))
    saved = f"{CLOUD}/pretrained/checkpoint"
    with cloud.ordered(hold=rf"pretrained/.*ckpt-{2 * SAVE_STEPS}\.index"):  # it cannot end before it is killed
        status, _ = scripts.kill_when(command, None, lambda: has(cloud, saved))
    assert status == -signal.SIGKILL
    first = latest_step(cloud)
    assert first < STEPS
    with cloud.ordered(hold=r"pretrained/.*ckpt-\d+\.index"):  # the last part of a checkpoint
        before = len(cloud.requests("held"))
        scripts.kill_when(command, None, lambda: len(cloud.requests("held")) > before)
    assert latest_step(cloud) == first
    before = len(cloud.store.requests())
    output = scripts.succeed("run.run_pretraining", **pretraining(CLOUD))
    assert f"{CLOUD}/pretrained: resuming at step {first} of {STEPS}" in output
    return data, first, cloud.store.requests()[before:]


@pytest.fixture(scope="module")
def classified(cloud, pretrained):
    """`data`, with a fine-tuned model in classifier/, there and in the cloud; and the requests of the latter."""
    folder, *_ = pretrained
    scripts.succeed("run.run_classifier", **classification(folder))
    before = len(cloud.store.requests())
    scripts.succeed("run.run_classifier", **classification(CLOUD))
    return folder, cloud.store.requests()[before:]


def has(cloud, path):
    with contextlib.suppress(FileNotFoundError):
        return bool(cloud.get(path))
    return False


def latest_step(cloud):
    """The step that the file `checkpoint` says a run resumes at."""
    return int(re.match(r'model_checkpoint_path: ".*ckpt-(\d+)"', cloud.text(f"{CLOUD}/pretrained/checkpoint"))[1])


def newest(folder):
    """The prefix of the newest checkpoint in a local folder."""
    steps = [int(CHECKPOINT.fullmatch(path.name)[1]) for path in folder.glob("ckpt-*.index")]
    return folder / f"ckpt-{max(steps)}"


def assert_same_tensors(prefix, other):
    """Asserts that two checkpoints hold the same numbers, of model, dropout and optimizer, bitwise."""
    readers = [tf.train.load_checkpoint(str(each)) for each in (prefix, other)]
    names, others = (
        {name for name in reader.get_variable_to_shape_map()
         if name != "_CHECKPOINTABLE_OBJECT_GRAPH" and not name.startswith("save_counter")} for reader in readers)
    assert names == others
    assert names
    for name in names:
        np.testing.assert_array_equal(*(reader.get_tensor(name) for reader in readers), err_msg=name)


def written(requests):
    """How often each object was written, a collections.Counter."""
    return collections.Counter(each["name"] for each in requests if each["kind"] in ("upload", "copy"))


def assert_nothing_unfinished(cloud, path):
    assert [name for name in cloud.names(path) if re.search(r"partial|unfinished|_temp|tempstate", name)] == []


def test_vocabulary_and_records_are_those_of_local_files(cloud, data):
    assert cloud.get(f"{CLOUD}/vocab.txt") == (data / "vocab.txt").read_bytes()
    assert cloud.requests("cut") == [f"{CLOUD}/vocab.txt".removeprefix("gs://bucket/")]
    names = sorted(path.name for path in (data / "records").iterdir())
    assert cloud.names(f"{CLOUD}/records") == names
    for name in names:
        if name.endswith(".tfrecord"):
            assert cloud.get(f"{CLOUD}/records/{name}") == (data / "records" / name).read_bytes()
    assert "[MASK]" in scripts.succeed("data_prep.inspect_records", **LENGTHS, **at(
        CLOUD, input_file="records/*.tfrecord", vocab_file="vocab.txt"))


def test_pretraining_killed_twice_ends_bitwise_as_a_local_run(cloud, pretrained, tmp_path):
    folder, *_ = pretrained
    output = cloud.download(f"{CLOUD}/pretrained", tmp_path)
    assert_same_tensors(output / f"ckpt-{STEPS}", folder / "pretrained" / f"ckpt-{STEPS}")
    assert {path.name for path in output.glob("ckpt-*")} == {
        path.name for path in (folder / "pretrained").glob("ckpt-*")}
    rows, expected = (list(csv.DictReader(where.joinpath("training_log.csv").open(newline="")))
                      for where in (output, folder / "pretrained"))
    assert rows == expected
    assert [row["step"] for row in rows] == [str(step) for step in range(1, STEPS + 1)]
    assert (output / "loss.png").read_bytes().startswith(b"\x89PNG")
    assert list(output.glob("*tfevents*"))
    assert_nothing_unfinished(cloud, f"{CLOUD}/pretrained")


def test_a_step_of_pretraining_asks_nothing(pretrained):
    """From the end of a checkpoint to the logs before the next one there is no request; input is read ahead."""
    _, first, requests = pretrained
    names = [each["name"].partition("/pretrained/")[2] for each in requests if "/records/" not in each["name"]]
    for step in range(first + 2 * SAVE_STEPS, STEPS + 1, SAVE_STEPS):
        end = names.index(next(name for name in names if name.startswith(f"ckpt-{step}")))
        begin = max(place for place, name in enumerate(names[:end]) if name.startswith("checkpoint"))
        between = names[begin + 1 : end]
        assert [name for name in between if name and not name.startswith(("training_log.csv", "events."))] == []
        assert between.count("") < SAVE_STEPS  # the folder itself, where 5 s are over since TensorFlow last looked
        assert between
    assert max(written(requests).values()) <= 2 * (STEPS - first) // SAVE_STEPS  # `checkpoint` is written twice


def test_a_step_of_fine_tuning_uploads_nothing(classified):
    _, requests = classified
    num_evaluations = 3  # in 8 steps
    assert max(written(requests).values()) <= num_evaluations


def test_fine_tuning_is_that_of_local_files(cloud, classified, tmp_path):
    folder = classified[0] / "classifier"
    output = cloud.download(f"{CLOUD}/classifier", tmp_path)
    for name in ("", "best"):
        assert_same_tensors(newest(output / name), newest(folder / name))
    for name in ("test_results.tsv", "eval_log.csv", "training_log.csv", "task.json", "best/best.json"):
        assert (output / name).read_bytes() == (folder / name).read_bytes(), name
    names = [{re.sub(r"tfevents\..*", "tfevents", path.relative_to(where).as_posix()) for path in where.rglob("*")
              if path.is_file()} for where in (output, folder)]
    assert names[0] == names[1]
    assert_nothing_unfinished(cloud, f"{CLOUD}/classifier")


def test_a_served_model_fills_masks(cloud, pretrained):
    del pretrained
    cloud.put(f"{CLOUD}/served/fill/3/saved_model.pb", b"of an earlier model")
    output = scripts.succeed("run.export_saved_model", task="masked_lm", top_k=3, **model(CLOUD),
                             **at(CLOUD, init_checkpoint="pretrained", export_dir="served/fill"))
    assert output.startswith(f"{CLOUD}/served/fill/4: SavedModel of a masked_lm")
    assert_nothing_unfinished(cloud, f"{CLOUD}/served")
    lines = scripts.succeed("run.fill_mask", saved_model=f"{CLOUD}/served/fill", text="The [MASK].").splitlines()
    assert lines[0] == "The [MASK]."
    assert len(lines[1].split()) == 6


def test_a_served_model_answers_questions(cloud, pretrained):
    del pretrained
    flags = {**model(CLOUD), "doc_stride": 7, "max_query_length": 5}
    scripts.succeed("run.run_squad", do_train=True, do_predict=True, train_batch_size=8, num_train_epochs=1.0,
                    version_2_with_negative=True, **flags,
                    **at(CLOUD, train_file="squad.json", predict_file="squad.json", init_checkpoint="pretrained",
                         output_dir="squad"))
    assert len(json.loads(cloud.text(f"{CLOUD}/squad/predictions.json"))) == 40
    scripts.succeed("run.export_saved_model", **flags, **at(CLOUD, init_checkpoint="squad", export_dir="served/squad"))
    cloud.put(f"{CLOUD}/context.txt", "The debugger's prompt is (Pdb).")
    assert "What is it?" in scripts.succeed("run.answer", saved_model=f"{CLOUD}/served/squad/1", question="What is it?",
                                            context_file=f"{CLOUD}/context.txt")


def test_vectors(cloud, pretrained, tmp_path):
    """NumPy's format, which is a zip file, and lines of text hold the same; what they hold is tested locally."""
    del pretrained
    cloud.put(f"{CLOUD}/input.txt", "The debugger.\nA prompt ||| of the debugger.\n")
    for output_format in ("jsonl", "npz"):
        scripts.succeed("run.extract_features", output_format=output_format, layers="-1", pooling="mean",
                        **model(CLOUD), **at(CLOUD, input_file="input.txt", init_checkpoint="pretrained",
                                             output_file=f"vectors.{output_format}"))
    (tmp_path / "vectors.npz").write_bytes(cloud.get(f"{CLOUD}/vectors.npz"))
    rows = [json.loads(line) for line in cloud.text(f"{CLOUD}/vectors.jsonl").splitlines()]
    expected = [row["features"][0]["layers"][0]["values"] for row in rows]
    with np.load(tmp_path / "vectors.npz") as arrays:
        np.testing.assert_allclose(arrays["vectors"][:, 0], expected, rtol=0, atol=1e-5)


def test_checkpoints_are_converted_in_the_cloud(cloud, tmp_path):
    for path in REFERENCE.glob("pretrain_init.ckpt.*"):
        cloud.put(f"gs://bucket/original/{path.name.replace('pretrain_init', 'bert_model')}", path.read_bytes())
    cloud.put("gs://bucket/original/bert_config.json", (REFERENCE / "bert_config.json").read_bytes())
    scripts.succeed("run.convert_checkpoint", input="gs://bucket/original", output="gs://bucket/hf",
                    format="huggingface")
    assert {"config.json", "model.safetensors"} <= set(cloud.names("gs://bucket/hf"))
    scripts.succeed("run.convert_checkpoint", input="gs://bucket/hf", output="gs://bucket/back", format="tf1")
    assert_same_tensors(cloud.download("gs://bucket/back", tmp_path) / "bert_model.ckpt",
                        REFERENCE / "pretrain_init.ckpt")
    assert "--output=gs://bucket/back" in scripts.fail("run.convert_checkpoint", input="gs://bucket/hf",
                                                       output="gs://bucket/back", format="tf1")


def test_names_that_are_patterns(cloud, data):
    """A file is read by its name, whatever a glob makes of that; a folder to write to must be no pattern."""
    name = "gs://bucket/[e]?*"
    cloud.put(name, (data / "train.txt").read_bytes())
    cloud.put("gs://bucket/e?*", "Not this one, which the pattern matches.")
    scripts.succeed("data_prep.learn_vocab", vocab_size=VOCAB_SIZE, num_unused=5, input_file=name,
                    vocab_file=f"{name}.vocab.txt")
    assert cloud.get(f"{name}.vocab.txt") == (data / "vocab.txt").read_bytes()
    assert f"--output_dir={name}" in scripts.fail("run.run_pretraining", **{**pretraining(data), "output_dir": name})


def refused(case, place, local):
    """(module, flags) of a script that is to read or write at a place where it may not."""
    if case == "reads text":
        return "data_prep.learn_vocab", {"input_file": f"{place}/train.txt", "vocab_file": local / "never.txt"}
    if case == "writes a file":
        return "data_prep.learn_vocab", {"input_file": local / "train.txt", "vocab_file": f"{place}/vocab.txt",
                                         "vocab_size": VOCAB_SIZE}
    if case == "reads records":
        return "run.run_pretraining", {**pretraining(local), "output_dir": local / "never",
                                       "input_file": f"{place}/*.tfrecord"}
    if case == "reads a model":
        return "run.fill_mask", {"init_checkpoint": f"{place}/model", "text": "[MASK]", **model(local)}
    assert case == "writes a run"
    return "run.run_pretraining", {**pretraining(local), "output_dir": f"{place}/run"}


WRITES = ("writes a file", "writes a run")
CASES = ("reads text", *WRITES, "reads records", "reads a model")


@pytest.mark.parametrize("case", CASES)
def test_a_bucket_that_is_not_there(data, case):
    module, flags = refused(case, "gs://nothing/x", data)
    assert re.search(r"gs://nothing/x.*no bucket nothing", scripts.fail(module, **flags))


@pytest.mark.parametrize("case", CASES)
def test_a_bucket_that_one_may_not_use(data, case):
    module, flags = refused(case, "gs://archive/x" if case in WRITES else "gs://secret/x", data)
    error = scripts.last_error if case == "writes a file" else scripts.fail  # what it writes is all that it does
    assert re.search(r"gs://(archive|secret)/x.*no permission", error(module, **flags))


@pytest.mark.parametrize("case", ["reads text", "writes a run"])
def test_no_credentials(data, monkeypatch, case):
    monkeypatch.delenv("GOOGLE_AUTH_TOKEN_FOR_TESTING")
    module, flags = refused(case, "gs://bucket/x", data)
    assert re.search(r"gs://bucket/x.*credentials", scripts.fail(module, **flags))
