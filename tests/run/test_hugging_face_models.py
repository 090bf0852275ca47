"""Fine-tuned models of Hugging Face, written by transformers: evaluated, served and exported as they are.

`hf_tasks` has a folder a task, with random weights; `expected.npz` what transformers computed with them.
"""

import csv
import dataclasses
import json
import re
import shutil

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_text  # noqa: F401, registers the kernels of an export's tokenizer

from bert_tf import model_folder
from bert_tf.checkpoints import convert, open_checkpoint
from bert_tf.model_folder import task_metadata
from bert_tf.serving import checkpoint
from bert_tf.serving.settings import of_checkpoint
from tests import scripts

LOGITS = 1e-5
TEXTS = ["the quick brown fox", "a lazy dog jumps over the film", "what a good film", "mary shelley wrote in genoa",
         "bad", "who did go to genoa ?", "the dogs jumped", "a good dog is a good dog"]


@pytest.fixture(scope="module")
def models_of(tmp_path_factory, reference):
    """The folder of hf_tasks' folders, each with the tokenizer's files of its own or else the classifier's."""
    folder = tmp_path_factory.mktemp("hf") / "models"
    shutil.copytree(reference / "hf_tasks", folder)
    for each in folder.iterdir():
        if each.is_dir() and not (each / "tokenizer.json").exists():
            for name in ("tokenizer.json", "tokenizer_config.json"):
                shutil.copy(folder / "classifier" / name, each)
    return folder


@pytest.fixture(scope="module")
def expected(reference):
    with np.load(reference / "hf_tasks" / "expected.npz") as arrays:
        return dict(arrays)


@pytest.mark.parametrize(("name", "kind", "labels"), [
    ("classifier", "classifier", ("ENTAILMENT", "NEUTRAL", "CONTRADICTION")),
    ("several", "classifier", ("news", "sport", "film", "art")),
    ("regression", "classifier", ()),
    ("unnamed", "classifier", ("LABEL_0", "LABEL_1")),
    ("tagger", "token_classifier", ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")),
    ("squad", "span_labeler", ()),
    ("swag", "multiple_choice", ()),
    ("masked", "masked_lm", ()),
])
def test_logits_are_those_of_transformers(models_of, expected, name, kind, labels):
    servable, card = checkpoint.load(of_checkpoint(str(models_of / name), max_seq_length=11, max_query_length=4))
    assert (card.kind, card.labels) == (kind, labels)
    assert card.multi_label == (name == "several")
    features = {key: tf.constant(expected[key]) for key in ("input_ids", "input_mask", "segment_ids")}
    is_real = expected["input_mask"].astype(bool)
    if kind == "multiple_choice":
        features = {key: value[tf.newaxis] for key, value in features.items()}
    if kind == "masked_lm":
        features["masked_lm_positions"] = tf.tile(tf.range(11)[tf.newaxis], [3, 1])
        found = servable.model(features)["masked_lm_logits"].numpy()
        np.testing.assert_allclose(found[is_real], expected["masked_logits"][is_real], rtol=0, atol=LOGITS)
        return
    for key, value in servable.model(features).items():
        value, wanted = value.numpy(), expected[f"{name}_{key}"]
        if kind in ("token_classifier", "span_labeler"):  # at padding, which is left out here, they mean nothing
            value, wanted = value[is_real], wanted[is_real]
        np.testing.assert_allclose(value, wanted, rtol=0, atol=LOGITS, err_msg=key)


def test_the_tokenizer_is_the_one_of_the_folder(models_of):
    assert model_folder.find_tokenizer(str(models_of / "classifier")).do_lower_case is True
    tagger, _ = checkpoint.load(of_checkpoint(str(models_of / "tagger"), max_seq_length=11))
    assert (tagger.tokenizer.lower_case, tagger.tokenizer.strip_accents) == (True, False)
    pieces = tagger.tokenizer.convert_ids_to_tokens(tagger.tokenizer.tokenize(["Größe GROẞE Straße"]))
    assert [piece.decode() for piece in pieces[0].numpy()] == ["größe", "g", "##r", "##o", "##ße", "straße"]


def test_the_labels_of_a_task_in_the_models_order(models_of, tmp_path):
    """MNLI's files, with the labels that the model itself gives: all are right, though its order is another."""
    _, served = scripts.succeed("run.export_saved_model", models_of, init_checkpoint="classifier", pairs=True,
                                max_seq_length=32, export_dir=tmp_path / "served").split(", labels ")
    assert served == "ENTAILMENT, NEUTRAL, CONTRADICTION\n"
    answer = tf.saved_model.load(str(tmp_path / "served" / "1")).signatures["serving_default"](
        text_a=tf.constant(TEXTS), text_b=tf.constant(TEXTS[::-1]))
    labels = [label.decode().lower() for label in answer["label"].numpy()]
    assert len(set(labels)) > 1
    header = [f"column{number}" for number in range(12)]
    rows = [header, *([str(number), *"1234567", text_a, text_b, "x", label] for number, (text_a, text_b, label) in
                      enumerate(zip(TEXTS, TEXTS[::-1], labels, strict=True)))]
    (tmp_path / "dev_matched.tsv").write_text("".join("\t".join(row) + "\n" for row in rows))
    done = scripts.run_script("run.run_classifier", models_of, init_checkpoint="classifier", task_name="mnli",
                              data_dir=tmp_path, output_dir=tmp_path / "out", do_eval=True, max_seq_length=32)
    assert done.returncode == 0, done.stderr
    assert ("note: the model's labels are in another order than those of mnli, which are taken in the model's: "
            "entailment, neutral, contradiction") in done.stderr
    assert "eval_accuracy = 1.0" in (tmp_path / "out" / "eval_results.txt").read_text()


def test_labels_without_names_are_those_of_the_task(models_of, tmp_path):
    rows = [["sentence", "label"], *([text, str(number % 2)] for number, text in enumerate(TEXTS))]
    (tmp_path / "dev.tsv").write_text("".join("\t".join(row) + "\n" for row in rows))
    asked = {"init_checkpoint": "unnamed", "output_dir": tmp_path / "out", "do_eval": True, "max_seq_length": 32,
             "data_dir": tmp_path}
    scripts.succeed("run.run_classifier", models_of, task_name="sst-2", **asked)
    assert "eval_accuracy = " in (tmp_path / "out" / "eval_results.txt").read_text()
    assert scripts.fail("run.run_classifier", models_of, task_name="mnli", **asked).endswith(
        "--task_name=mnli: the model was trained for another task, its labels are LABEL_0, LABEL_1, those of the task "
        "contradiction, entailment, neutral")

    own = {**asked, "task_name": "own", "text_a_column": "sentence"}
    (tmp_path / "train.tsv").write_text("sentence\tlabel\na\t0\nb\t1\n")
    scripts.succeed("run.run_classifier", models_of, **own)
    (tmp_path / "train.tsv").write_text("sentence\tlabel\na\t0\nb\t1\nc\t2\n")
    assert scripts.fail("run.run_classifier", models_of, **own).endswith(
        f"--data_dir={tmp_path}: the model has 2 labels, the data 3: it was trained for another task")


def test_a_tagger_without_a_pooler(models_of, tmp_path):
    (tmp_path / "test.txt").write_text("Mary\nShelley\nwrote\n\nGröße\n", encoding="utf-8")
    scripts.succeed("run.run_tagger", models_of, init_checkpoint="tagger", test_file=tmp_path / "test.txt",
                    output_dir=tmp_path / "out", do_predict=True, max_seq_length=32)
    words = [line.split() for line in (tmp_path / "out" / "test_predictions.txt").read_text().splitlines() if line]
    assert [word for word, _ in words] == ["Mary", "Shelley", "wrote", "Größe"]
    assert {tag for _, tag in words} <= {"O", "B-PER", "I-PER", "B-LOC", "I-LOC"}


def test_a_span_labeler_answers_and_is_evaluated(models_of, tmp_path):
    context = "Mary Shelley wrote to the lazy dog in Genoa."
    asked = {"init_checkpoint": "squad", "max_seq_length": 32, "max_query_length": 8}
    printed = scripts.succeed("run.answer", models_of, context=context, question="Who wrote?", **asked).splitlines()
    answer, start, end = re.fullmatch(r"  (.*)  \[(\d+):(\d+)\]", printed[1]).groups()
    assert context[int(start) : int(end)] == answer
    article = {"title": "t", "paragraphs": [{"context": context, "qas": [
        {"id": "1", "question": "Who wrote?", "answers": [{"text": answer, "answer_start": int(start)}]}]}]}
    (tmp_path / "dev.json").write_text(json.dumps({"version": "1.1", "data": [article]}))
    scripts.succeed("run.run_squad", models_of, predict_file=tmp_path / "dev.json", output_dir=tmp_path / "out",
                    do_eval=True, do_predict=True, doc_stride=8, **asked)
    assert json.loads((tmp_path / "out" / "predictions.json").read_text()) == {"1": answer}
    assert "eval_exact_match = 100.0" in (tmp_path / "out" / "eval_results.txt").read_text()


def test_multiple_choice_in_parts(models_of, tmp_path):
    with open(tmp_path / "dev.csv", "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["sent1", "sent2", "ending0", "ending1", "label"])
        table.writerows([[text, "the", "dog", "film", str(number % 2)] for number, text in enumerate(TEXTS)])
    assert (models_of / "swag" / "model.safetensors.index.json").exists()
    scripts.succeed("run.run_multiple_choice", models_of, init_checkpoint="swag", dev_file=tmp_path / "dev.csv",
                    output_dir=tmp_path / "out", do_eval=True, max_seq_length=32)
    assert "eval_accuracy = " in (tmp_path / "out" / "eval_results.txt").read_text()


def test_a_masked_language_model_fills_masks_and_is_known_for_one(models_of, tmp_path):
    first, answer = scripts.succeed("run.fill_mask", models_of, init_checkpoint="masked", text="the [MASK] dog .",
                                    max_seq_length=32).splitlines()
    assert first == "the [MASK] dog ."
    assert len(answer.split("   ")) == 5
    assert "SavedModel of a masked_lm" in scripts.succeed(
        "run.export_saved_model", models_of, init_checkpoint="masked", export_dir=tmp_path, max_seq_length=32)


def test_a_folder_is_enough_from_training_to_export(models_of, tmp_path):
    """The encoder of one folder with the tokenizer of another, in lower case with accents; each command by itself."""
    shutil.copytree(models_of / "masked", tmp_path / "bert")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(models_of / "tagger" / name, tmp_path / "bert")
    for split in ("train", "dev"):
        (tmp_path / f"{split}.tsv").write_text(
            "text\tlabel\n" + "".join(f"{text}\t{'ab'[number % 2]}\n" for number, text in enumerate(TEXTS)))
    trained = scripts.succeed(
        "run.run_classifier", tmp_path, init_checkpoint="bert", task_name="own", data_dir=".", output_dir="out",
        do_train=True, do_eval=True, num_train_epochs=1, train_batch_size=4, eval_steps=1, max_seq_length=32)
    assert "out: a new run of 2 steps" in trained
    kept = json.loads((tmp_path / "out" / "task.json").read_text())
    assert (kept["do_lower_case"], kept["strip_accents"], kept["labels"]) == (True, False, ["a", "b"])
    results = (tmp_path / "out" / "eval_results.txt").read_text()
    scripts.succeed("run.run_classifier", tmp_path, task_name="own", data_dir=".", output_dir="out", do_eval=True,
                    max_seq_length=32)
    assert (tmp_path / "out" / "eval_results.txt").read_text() == results

    (tmp_path / "input.txt").write_text("Größe\n", encoding="utf-8")
    scripts.succeed("run.extract_features", tmp_path, init_checkpoint="out/best", input_file="input.txt",
                    output_file="vectors.jsonl", layers="-1", max_seq_length=32)
    features = json.loads((tmp_path / "vectors.jsonl").read_text())["features"]
    assert [feature["token"] for feature in features] == ["[CLS]", "größe", "[SEP]"]
    assert "labels a, b" in scripts.succeed("run.export_saved_model", tmp_path, init_checkpoint="out/best",
                                            export_dir="served")
    scripts.succeed("run.convert_checkpoint", tmp_path, input="out/best", output="hf", format="huggingface")
    assert model_folder.read_task(str(tmp_path / "hf")) == model_folder.Task("classifier", ("a", "b"))
    assert model_folder.find_tokenizer(str(tmp_path / "hf")).strip_accents is False


@pytest.mark.parametrize(("flags", "message"), [
    ({"task": "span_labeler"}, "--task=span_labeler: contradicts config.json of --init_checkpoint=classifier, which "
                               "says classifier"),
    ({"multi_label": True}, "--multi_label says True: contradicts config.json of --init_checkpoint=classifier, which "
                            "says False"),
])
def test_flags_that_contradict_the_models_task(models_of, tmp_path, flags, message):
    assert scripts.fail("run.export_saved_model", models_of, init_checkpoint="classifier", export_dir=tmp_path / "e",
                        **flags).endswith(message)


@pytest.mark.parametrize("name", ["classifier", "several", "regression", "tagger", "squad", "swag"])
def test_there_and_back_with_the_task(models_of, name, tmp_path):
    """Through our own format with its task.json, and out again: the same tensors, labels and casing."""
    source = str(models_of / name)
    kept = task_metadata.read(source)
    convert(source, str(tmp_path / "ours"), "tf1")
    casing = model_folder.find_tokenizer(source)
    ours = task_metadata.TaskMetadata(**dataclasses.asdict(kept) | {
        "do_lower_case": casing.do_lower_case, "strip_accents": casing.strip_accents, "doc_stride": None,
        "max_query_length": None})
    task_metadata.keep(tmp_path / "ours", ours)
    (tmp_path / "ours" / "vocab.txt").write_text(
        "".join(f"{piece}\n" for piece in model_folder.pieces_of_tokenizer_json(casing.vocab_file)), encoding="utf-8")
    scripts.succeed("run.convert_checkpoint", tmp_path, input="ours", output="back", format="huggingface")

    values, original = (json.loads((folder / "config.json").read_text(encoding="utf-8"))
                        for folder in (tmp_path / "back", models_of / name))
    for key in ("architectures", "id2label", "label2id", "problem_type", "hidden_act"):
        if original.get(key) is not None and not (key == "label2id" and name == "regression"):
            assert values[key] == original[key], key
    back, before = open_checkpoint(str(tmp_path / "back")), open_checkpoint(source)
    assert {key: tensor.read().tobytes() for key, tensor in back.tensors.items()} == {
        key: tensor.read().tobytes() for key, tensor in before.tensors.items()}
    found = model_folder.find_tokenizer(str(tmp_path / "back"))
    assert (found.do_lower_case, found.strip_accents) == (casing.do_lower_case, casing.strip_accents)
    assert found.vocab_file == str(tmp_path / "back" / "vocab.txt")
