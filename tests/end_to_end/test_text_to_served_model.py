"""The whole line at toy size, through the scripts: text -> vocabulary -> records -> models -> SavedModel -> answers."""

import json
import pydoc_data.topics
import re
import subprocess
import sys
import sysconfig

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import models
from bert_tf.checkpoints import load_pretrained
from bert_tf.config import BertConfig
from bert_tf.tokenization import BertTokenizer
from tests import scripts

VOCAB_SIZE, MAX_SEQ_LENGTH, MAX_PREDICTIONS = 301, 24, 4
SHAPE = {"max_seq_length": MAX_SEQ_LENGTH, "max_predictions_per_seq": MAX_PREDICTIONS}
PRETRAINING = {"bert_config_file": "bert_config.json", "input_file": "train.tfrecord", "do_train": True, **SHAPE,
               "train_batch_size": 6, "num_train_steps": 12, "num_warmup_steps": 2, "save_checkpoints_steps": 5,
               "learning_rate": 1e-3}
MODEL = {"bert_config_file": "bert_config.json", "vocab_file": "vocab.txt", "max_seq_length": MAX_SEQ_LENGTH}


def write_corpus_and_task(folder, sentences_each):
    """Writes train.txt, two of CPython's topics, and in task/ which of them so many sentences of each are from."""
    sentences = [re.split(r"(?<=\.)\s+", " ".join(pydoc_data.topics.topics[name].split()))
                 for name in ("debugger", "formatstrings")]
    documents = [part[start : start + 9] for part in sentences for start in range(0, len(part), 9)]
    (folder / "train.txt").write_text("\n".join("\n".join(document) + "\n" for document in documents))
    (folder / "task").mkdir()
    rows = [f"{text}\t{label}\n" for label, part in enumerate(sentences) for text in part[:sentences_each]]
    for name, chosen in (("train", rows[::2]), ("dev", rows[1::2]), ("test", rows[1::2])):
        (folder / "task" / f"{name}.tsv").write_text("text\tlabel\n" + "".join(chosen))


@pytest.fixture(scope="session")
def prepared(tmp_path_factory):
    """A folder with corpus, vocabulary, records, config and the files of a two-class task."""
    folder = tmp_path_factory.mktemp("line")
    write_corpus_and_task(folder, 25)
    config = BertConfig(VOCAB_SIZE, 16, 2, 4, 28, max_position_embeddings=32, type_vocab_size=2)
    (folder / "bert_config.json").write_text(config.to_json())
    scripts.succeed("data_prep.learn_vocab", folder, input_file="train.txt", vocab_file="vocab.txt",
                    vocab_size=VOCAB_SIZE, num_unused=5)
    scripts.succeed("data_prep.create_pretraining_data", folder, input_file="train.txt", output_file="train.tfrecord",
                    vocab_file="vocab.txt", dupe_factor=2, **SHAPE)
    return folder


@pytest.fixture(scope="session")
def pretrained(prepared):
    """`prepared`, with a run of pre-training and evaluation in pretrained/."""
    output = scripts.succeed("run.run_pretraining", prepared, output_dir="pretrained", do_eval=True, **PRETRAINING)
    assert "masked_lm_accuracy = " in output
    return prepared


@pytest.fixture(scope="session")
def classified(pretrained):
    """`pretrained`, with a run of fine-tuning, evaluation and prediction in classifier/."""
    scripts.succeed("run.run_classifier", pretrained, task_name="own", data_dir="task", do_train=True, do_eval=True,
                    do_predict=True, init_checkpoint="pretrained", output_dir="classifier", train_batch_size=5,
                    num_train_epochs=2.0, **MODEL)
    return pretrained


def read_results(path):
    return {name: float(value) for name, value in (line.split(" = ") for line in path.read_text().splitlines())}


def test_pretraining_leaves_checkpoints_results_and_curves(pretrained):
    folder = pretrained / "pretrained"
    results = read_results(folder / "eval_results.txt")
    assert results["global_step"] == 12
    assert results["loss"] == pytest.approx(results["masked_lm_loss"] + results["next_sentence_loss"], rel=0.05)
    assert {path.name for path in folder.glob("ckpt-*.index")} >= {"ckpt-5.index", "ckpt-10.index", "ckpt-12.index"}
    assert (folder / "loss.png").read_bytes().startswith(b"\x89PNG")
    rows = (folder / "training_log.csv").read_text().splitlines()
    assert rows[0] == "step,loss,masked_lm_loss,next_sentence_loss"
    assert rows[-1].startswith("12,")
    assert not list(folder.glob("*.partial"))


def test_evaluation_is_of_the_trained_model(pretrained):
    """The reported loss is what the loaded checkpoint gives on the same records, computed in one plain batch."""
    from data_prep import records

    features = records.pretraining_features(MAX_SEQ_LENGTH, MAX_PREDICTIONS)
    serialized = next(iter(tf.data.TFRecordDataset(str(pretrained / "train.tfrecord")).batch(100 * 8)))
    batch = records.parse(serialized, features)
    model = models.BertPretrainer(BertConfig.from_json_file(pretrained / "bert_config.json"))
    load_pretrained(model, str(pretrained / "pretrained"))
    outputs = model(batch)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(batch["masked_lm_ids"], outputs["masked_lm_logits"])
    weights = batch["masked_lm_weights"]
    results = read_results(pretrained / "pretrained" / "eval_results.txt")
    assert results["masked_lm_loss"] == pytest.approx(
        float(tf.reduce_sum(losses * weights) / tf.reduce_sum(weights)), rel=1e-4)
    hits = np.argmax(outputs["next_sentence_logits"], axis=1) == batch["next_sentence_labels"].numpy()[:, 0]
    assert results["next_sentence_accuracy"] == pytest.approx(hits.mean(), rel=1e-6)


def test_a_finished_run_says_so(pretrained):
    output = scripts.succeed("run.run_pretraining", pretrained, output_dir="pretrained", **PRETRAINING)
    assert "training is finished, at step 12 of 12" in output


def test_evaluation_without_a_checkpoint(prepared):
    flags = {**PRETRAINING, "do_train": None}
    assert "--output_dir=untrained: holds no checkpoint to evaluate" in scripts.fail(
        "run.run_pretraining", prepared, output_dir="untrained", do_eval=True, **flags)


def test_records_of_another_length(prepared):
    flags = {**PRETRAINING, "max_seq_length": 20}
    assert "the record at byte 0 has 24 numbers in input_ids, 20 are expected" in scripts.fail(
        "run.run_pretraining", prepared, output_dir="other", **flags)


def test_a_folder_of_other_data_is_refused(pretrained):
    (pretrained / "twice.tfrecord").write_bytes((pretrained / "train.tfrecord").read_bytes() * 2)
    message = scripts.fail("run.run_pretraining", pretrained, output_dir="pretrained",
                           **{**PRETRAINING, "input_file": "twice.tfrecord"})
    assert re.search(r"--output_dir=pretrained: holds a run with --input_file of [\d,]+ bytes \(1 files, \w{8}\), not "
                     r"of [\d,]+ bytes \(1 files", message)


def test_fill_mask(pretrained):
    output = scripts.succeed("run.fill_mask", pretrained, init_checkpoint="pretrained", top_k=3, **MODEL,
                             text=("The [MASK] is [MASK].", "[MASK]"))
    lines = output.splitlines()
    assert lines[0] == "The [MASK] is [MASK]."
    assert lines[3] == "[MASK]"
    for answer in (lines[1], lines[2], lines[4]):
        pairs = [pair.split() for pair in answer.strip().split("   ")]
        probabilities = [float(probability) for _, probability in pairs]
        assert len(pairs) == 3
        assert probabilities == sorted(probabilities, reverse=True)


def test_fill_mask_reads_lines_until_the_end(pretrained):
    done = scripts.run(scripts.command("run.fill_mask", init_checkpoint="pretrained", **MODEL), pretrained,
                       text="nothing masked\na [MASK]\n" + "word " * 30 + "[MASK]\n")
    assert done.returncode == 0
    assert "has no [MASK]" in done.stdout
    assert "--max_seq_length=24 allows fewer" in done.stdout


def test_fine_tuning_leaves_results_predictions_and_labels(classified):
    folder = classified / "classifier"
    results = read_results(folder / "eval_results.txt")
    assert results["global_step"] == 10
    assert 0 <= results["eval_accuracy"] <= 1
    assert json.loads((folder / "task.json").read_text())["labels"] == ["0", "1"]
    probabilities = np.loadtxt(folder / "test_results.tsv", delimiter="\t")
    assert probabilities.shape == (25, 2)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-5)
    labels = [int(line.rstrip("\n")[-1]) for line in (classified / "task" / "dev.tsv").open()
              if not line.startswith("text")]
    assert results["eval_accuracy"] == pytest.approx((probabilities.argmax(axis=1) == labels).mean())


def test_a_folder_of_another_task_is_refused_and_left_as_it_was(classified):
    folder = classified / "other_task"
    folder.mkdir()
    for name in ("train", "dev"):
        rows = (classified / "task" / f"{name}.tsv").read_text()
        rows = rows.replace("\t0\n", "\tzebra\n").replace("\t1\n", "\tant\n")
        (folder / f"{name}.tsv").write_text(rows)
    flags = {"task_name": "own", "do_train": True, "train_batch_size": 5, "num_train_epochs": 2.0, **MODEL}
    assert "holds the run of another task, with labels ('0', '1'), not ('ant', 'zebra')" in scripts.last_error(
        "run.run_classifier", classified, data_dir="other_task", output_dir="classifier", **flags)
    other_pieces = (classified / "vocab.txt").read_text().replace("[unused1]", "[unused9]")
    (classified / "other_vocab.txt").write_text(other_pieces)
    assert "--vocab_file=other_vocab.txt: is not the vocabulary of the run in --output_dir" in scripts.last_error(
        "run.run_classifier", classified, data_dir="task", output_dir="classifier",
        **{**flags, "vocab_file": "other_vocab.txt"})
    assert json.loads((classified / "classifier" / "task.json").read_text())["labels"] == ["0", "1"]
    assert "holds the run of another task, with kind None, not 'classifier'" in scripts.last_error(
        "run.run_classifier", classified, data_dir="task", output_dir="pretrained", **flags)


def test_a_folder_of_another_model_is_refused(pretrained):
    config = json.loads((pretrained / "bert_config.json").read_text())
    (pretrained / "two_heads.json").write_text(json.dumps({**config, "num_attention_heads": 2}))
    flags = {**PRETRAINING, "bert_config_file": "two_heads.json"}
    assert "holds the run of another model, with num_attention_heads 4, and --bert_config_file says 2" in scripts.fail(
        "run.run_pretraining", pretrained, output_dir="pretrained", **flags)


def test_a_missing_split_is_found_before_training(classified):
    (classified / "no_test").mkdir()
    (classified / "no_test" / "train.tsv").write_text((classified / "task" / "train.tsv").read_text())
    assert "no_test/test.tsv: no such file" in scripts.last_error(
        "run.run_classifier", classified, task_name="own", data_dir="no_test", output_dir="never", do_train=True,
        do_predict=True, **MODEL)
    assert not list((classified / "never").glob("ckpt*"))


def test_prediction_alone_needs_no_training_file(classified):
    (classified / "only_test").mkdir()
    (classified / "only_test" / "test.tsv").write_text((classified / "task" / "test.tsv").read_text())
    before = (classified / "classifier" / "test_results.tsv").read_text()
    scripts.succeed("run.run_classifier", classified, task_name="own", data_dir="only_test", output_dir="classifier",
                    do_predict=True, **MODEL)
    assert (classified / "classifier" / "test_results.tsv").read_text() == before


def test_training_and_evaluation_under_mirrored_strategy(pretrained):
    """One CPU as a MirroredStrategy: the same weights and results as without one."""
    scripts.succeed("run.run_pretraining", pretrained, output_dir="mirrored", do_eval=True,
                    distribution_strategy="mirrored", num_gpus=0, **PRETRAINING)
    results, mirrored = (read_results(pretrained / name / "eval_results.txt") for name in ("pretrained", "mirrored"))
    assert mirrored == pytest.approx(results, rel=1e-4)


def test_the_export_answers_where_this_project_cannot_be_imported(classified):
    output = scripts.succeed("run.export_saved_model", classified, init_checkpoint="classifier", export_dir="served",
                             **MODEL)
    assert output.startswith("served/1: SavedModel of a classifier, ")
    assert "with the signatures serving_default (text), ids and tf_example, labels 0, 1" in output
    texts = ["The debugger stops.", "", "A very long sentence " * 20]
    # Without the site module no editable install is seen: site-packages is only a folder of modules.
    script = """
import json, sys
sys.path.append(sys.argv[1])
import tensorflow as tf, tensorflow_text
try:
    import bert_tf
except ImportError:
    model = tf.saved_model.load(sys.argv[2])
    answers = model.signatures["serving_default"](text=tf.constant(sys.argv[3:]))
    print(json.dumps({name: value.numpy().tolist() for name, value in answers.items()}, default=bytes.decode))
"""
    done = subprocess.run([sys.executable, "-I", "-S", "-c", script, sysconfig.get_paths()["purelib"], "served/1",
                           *texts], cwd=classified, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]

    tokenizer = BertTokenizer(str(classified / "vocab.txt"))
    model = models.BertClassifier(BertConfig.from_json_file(classified / "bert_config.json"), 2)
    load_pretrained(model, str(classified / "classifier"))
    expected = tf.nn.softmax(model(tokenizer.encode(texts, max_seq_length=MAX_SEQ_LENGTH))["logits"]).numpy()
    answers = json.loads(done.stdout)
    np.testing.assert_allclose(answers["probabilities"], expected, rtol=0, atol=1e-5)
    assert answers["labels"] == [["0", "1"]] * 3
    assert answers["label"] == ["01"[number] for number in expected.argmax(axis=1)]


def test_a_pretrained_model_is_no_classifier(pretrained, tmp_path):
    (tmp_path / "labels.txt").write_text("a\nb\nc\n")
    assert "is not of a fine-tuned classifier, it lacks output_weights, output_bias" in scripts.fail(
        "run.export_saved_model", pretrained, init_checkpoint="pretrained", labels_file=tmp_path / "labels.txt",
        task="classifier", export_dir=tmp_path / "served", **MODEL)
    assert not (tmp_path / "served").exists()
