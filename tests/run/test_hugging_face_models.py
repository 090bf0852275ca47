"""Fine-tuned models that transformers wrote are evaluated, served, and exported unchanged.

`hf_tasks` has a directory per task, with random weights; `hf_relatives` has the same for DistilBERT
and ELECTRA. `expected.npz` contains the outputs of transformers for them.
"""

import dataclasses
import json
import shutil

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_text  # noqa: F401, registers the kernels of an export's tokenizer

import bert_tf
from bert_tf import losses, models
from bert_tf.checkpoints import ModelDirectory, huggingface, load_pretrained
from bert_tf.errors import InputError
from bert_tf.fast import Fast, FastEncoder
from bert_tf.serving import checkpoint
from run.inference.served_models import resolve_checkpoint
from tests import scripts
from tests.gradients import compute_gradients
from tests.variants import mark_variants

pytestmark = pytest.mark.large

CLASSIFY = "run.run_classifier"
EXPORT = "run.export_saved_model"
LENGTH = {"max_seq_length": 32}
TEXTS = [
    "the quick brown fox",
    "a lazy dog jumps over the film",
    "what a good film",
    "mary shelley wrote in genoa",
    "bad",
    "who did go to genoa ?",
    "the dogs jumped",
    "a good dog is a good dog",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory, reference):
    """Copies of hf_tasks and hf_relatives.

    Directories without tokenizer files have those of the classifier.
    """
    folder = tmp_path_factory.mktemp("hf") / "models"
    for name in ("hf_relatives", "hf_tasks"):
        shutil.copytree(reference / name, folder, dirs_exist_ok=True)
    for each in folder.iterdir():
        if each.is_dir() and not (each / "tokenizer.json").exists():
            for name in ("tokenizer.json", "tokenizer_config.json"):
                shutil.copy(folder / "classifier" / name, each)
    return folder


@pytest.fixture(scope="module")
def expected_arrays(reference):
    arrays = {}
    for name in ("hf_relatives", "hf_tasks"):  # with the same inputs
        with np.load(reference / name / "expected.npz") as file:
            arrays |= file
    return arrays


@pytest.mark.parametrize(
    ("name", "kind", "labels"),
    [
        ("classifier", "classifier", ("ENTAILMENT", "NEUTRAL", "CONTRADICTION")),
        ("several", "classifier", ("news", "sport", "film", "art")),
        ("regression", "classifier", ()),
        ("unnamed", "classifier", ("LABEL_0", "LABEL_1")),
        ("tagger", "token_classifier", ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")),
        ("squad", "span_labeler", ()),
        ("swag", "multiple_choice", ()),
        ("masked", "masked_lm", ()),
        ("distilbert_classifier", "classifier", ("ENTAILMENT", "NEUTRAL", "CONTRADICTION")),
        ("distilbert_squad", "span_labeler", ()),
        ("distilbert_masked", "masked_lm", ()),
        ("electra_classifier", "classifier", ("ENTAILMENT", "NEUTRAL", "CONTRADICTION")),
        ("electra_tagger", "token_classifier", ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")),
        ("electra_swag", "multiple_choice", ()),
    ],
)
def test_logits_equal_those_of_transformers(folder, expected_arrays, name, kind, labels):
    settings = resolve_checkpoint(str(folder / name), max_seq_length=11, max_query_length=4)
    servable = checkpoint.load_servable(**settings.servable_options)
    metadata = servable.metadata
    assert (metadata.kind, metadata.labels, metadata.multi_label) == (
        kind,
        labels,
        name == "several",
    )
    features = {
        key: tf.constant(expected_arrays[key]) for key in ("input_ids", "input_mask", "segment_ids")
    }
    mask = expected_arrays["input_mask"].astype(bool)
    if kind == "multiple_choice":
        features = {key: value[tf.newaxis] for key, value in features.items()}
    if kind == "masked_lm":
        features["masked_lm_positions"] = tf.tile(tf.range(11)[tf.newaxis], [3, 1])
        outputs = {"logits": servable.model(features)["masked_lm_logits"]}
    else:
        outputs = servable.model(features)
    for key, value in outputs.items():
        value = value.numpy()
        wanted = expected_arrays[f"{name}_{key}"]
        # Outputs at padding are undefined.
        if kind in ("token_classifier", "span_labeler", "masked_lm"):
            value = value[mask]
            wanted = wanted[mask]
        np.testing.assert_allclose(value, wanted, rtol=0, atol=1e-5, err_msg=key)


@pytest.mark.parametrize(
    "name",
    mark_variants(["distilbert_masked", "masked", "electra_discriminator"], "distilbert_masked"),
)
def test_a_directory_is_enough_for_fine_tuning(folder, name, tmp_path, monkeypatch, capsys):
    """The encoder is from one directory, and the tokenizer from another.

    The tokenizer is lowercase and keeps accents.
    """
    monkeypatch.chdir(tmp_path)
    shutil.copytree(folder / name, "bert")
    for path in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(folder / "tagger" / path, "bert")
    for split in ("train", "dev"):
        (tmp_path / f"{split}.tsv").write_text(
            "text\tlabel\n"
            + "".join(f"{text}\t{'ab'[number % 2]}\n" for number, text in enumerate(TEXTS))
        )
    scripts.run_here(
        CLASSIFY,
        init_checkpoint="bert",
        task_name="custom",
        data_dir=".",
        output_dir="out",
        do_train=True,
        do_eval=True,
        num_train_epochs=1,
        train_batch_size=4,
        eval_steps=1,
        **LENGTH,
    )
    output, errors = capsys.readouterr()
    assert "out: starting a new run of 2 steps" in output
    assert "not in the checkpoint, initial values kept: bert/pooler/dense/kernel, " in errors
    metadata = json.loads((tmp_path / "out" / "task.json").read_text())
    assert (metadata["do_lower_case"], metadata["strip_accents"], metadata["labels"]) == (
        True,
        False,
        ["a", "b"],
    )
    (tmp_path / "input.txt").write_text("Größe GROẞE\n", encoding="utf-8")
    scripts.run_here(
        "run.extract_features",
        init_checkpoint="out/best",
        input_file="input.txt",
        output_file="vectors.jsonl",
        layers="-1",
        **LENGTH,
    )
    features = json.loads((tmp_path / "vectors.jsonl").read_text())["features"]
    assert [feature["token"] for feature in features] == [
        "[CLS]",
        "größe",
        "g",
        "##r",
        "##o",
        "##ße",
        "[SEP]",
    ]
    scripts.run_here("run.convert_checkpoint", input="out/best", output="tf1", format="tf1")
    assert ModelDirectory.open("tf1").task == ModelDirectory.open("out").task
    assert ModelDirectory.open("tf1").tokenizer.strip_accents is False


def test_a_teacher_whose_labels_have_other_names_and_another_order(folder, tmp_path, monkeypatch):
    """The student has the order of the teacher, and the names of the data."""
    monkeypatch.chdir(tmp_path)
    rows = ["neutral", "entailment", "contradiction"]
    header = "index\tpromptID\tpairID\tgenre\t" + "".join(f"c{number}\t" for number in range(4))
    (tmp_path / "train.tsv").write_text(
        f"{header}sentence1\tsentence2\tlabel1\tgold_label\n"
        + "".join(
            f"{number}\t" * 8 + f"{text}\t{TEXTS[-number]}\tx\t{rows[number % 3]}\n"
            for number, text in enumerate(TEXTS)
        )
    )
    scripts.run_here(
        "run.run_distillation",
        teacher=folder / "classifier",
        task_name="mnli",
        data_dir=".",
        output_dir="student",
        student_layers="0",
        keep_answers=False,
        num_train_epochs=1,
        train_batch_size=4,
        do_eval=False,
        **LENGTH,
    )
    labels = ModelDirectory.open("student").task.labels
    assert labels == ("entailment", "neutral", "contradiction")


@pytest.mark.parametrize("name", ["distilbert_classifier", "electra_classifier"])
def test_gradients_equal_those_of_transformers(folder, expected_arrays, name):
    config = dataclasses.replace(
        ModelDirectory.open(str(folder / name)).config,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    model = models.BertClassifier(
        FastEncoder(config, Fast(remove_padding=True, last_where_read=True)), 3
    )
    load_pretrained(model, str(folder / name))
    batch = {
        key: tf.constant(expected_arrays[key]) for key in ("input_ids", "input_mask", "segment_ids")
    }
    gradients = compute_gradients(
        model, batch | {"label_ids": tf.constant([1, 0, 2])}, losses.classification_loss
    )
    np.testing.assert_allclose(
        gradients["loss"], expected_arrays[f"{name}_loss"], rtol=0, atol=5e-5
    )
    keys = [key for key in expected_arrays if key.startswith(f"{name}_gradient/")]
    assert len(keys) >= 9
    for key in keys:
        canonical = huggingface.canonical_name(key.partition("/")[2])
        wanted = (
            expected_arrays[key].T
            if canonical.endswith(("kernel", "projection"))
            else expected_arrays[key]
        )
        part = canonical.replace("/query/", "/qkv/")
        found = gradients[f"{part}:0"] if part == canonical else gradients[f"{part}:0"][..., :12]
        np.testing.assert_allclose(found, wanted, rtol=0, atol=5e-5, err_msg=key)


@pytest.mark.parametrize(
    "name",
    mark_variants(
        ["electra_discriminator", "distilbert_masked", "electra_base"], "electra_discriminator"
    ),
)
def test_encoders_without_a_pooler(folder, name, tmp_path, monkeypatch):
    """The embedding is the mean of the tokens' outputs; the pooled output cannot be requested."""
    monkeypatch.chdir(folder)
    model = bert_tf.load(name, kind="encoder", **LENGTH)
    embeddings = model.encode(TEXTS)
    encoder = models.BertEncoder(ModelDirectory.open(name).config)
    load_pretrained(encoder, name)
    servable = checkpoint.load_servable(
        **resolve_checkpoint(name, task="encoder", **LENGTH).servable_options
    )
    features = servable.encode(tf.constant(TEXTS))[0]
    mask = tf.cast(features["input_mask"], tf.float32)[..., tf.newaxis]
    wanted = tf.reduce_sum(encoder(features)["sequence_output"] * mask, axis=1) / tf.reduce_sum(
        mask, axis=1
    )
    np.testing.assert_allclose(embeddings, wanted, rtol=0, atol=1e-5)
    scripts.run_here(
        EXPORT,
        init_checkpoint=name,
        task="encoder",
        export_dir=tmp_path,
        with_litert="float32",
        lengths=32,
        batch_sizes=2,
        **LENGTH,
    )
    for path in (tmp_path, next(tmp_path.rglob("*.tflite"))):
        exported = bert_tf.load(path)
        assert exported.kind == "encoder"
        for texts in (TEXTS, []):
            assert {*exported(text=texts)} == {
                "sentence_embedding",
                "sequence_output",
                "token_mask",
                "pieces",
                "was_cut",
            }
        np.testing.assert_allclose(exported.encode(TEXTS), wanted, rtol=0, atol=5e-5)
        np.testing.assert_allclose(
            [row["sentence_embedding"] for row in exported.predict(text=TEXTS)],
            wanted,
            rtol=0,
            atol=5e-5,
        )
    with pytest.raises(InputError, match="`sentence_pooling`=pooler: requires a trained pooler"):
        bert_tf.load(name, kind="encoder", sentence_pooling="pooler", **LENGTH)
