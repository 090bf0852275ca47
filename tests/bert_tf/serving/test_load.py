"""bert_tf.load: every kind of task in every format answers raw text, and in the same way."""

import dataclasses
import json
import shutil
import subprocess
import sys

import numpy as np
import pytest

import bert_tf
from bert_tf import export, models
from bert_tf.checkpoints import convert
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.export import litert
from bert_tf.model_folder.task_metadata import TaskMetadata
from bert_tf.serving import checkpoint, exports
from bert_tf.serving.settings import of_checkpoint
from bert_tf.tasks import KINDS
from tests import scripts, toy_runs
from tests.bert_tf.test_import_cost import loaded_by

LENGTH = 26
LONG = "the debugger stops at the first line . " * 5
TEXTS = ["it stops", "", "caf\u00e9 and na\u00efve", LONG]
CARDS = {  # directory -> TaskMetadata, its model, and a request
    "reviews": (TaskMetadata("classifier", LENGTH, True, ("bad", "good")),
                lambda config: models.BertClassifier(config, 2), {"text": TEXTS}),
    "pairs": (TaskMetadata("classifier", LENGTH, True, ("no", "yes"), pairs=True),
              lambda config: models.BertClassifier(config, 2), {"text_a": TEXTS, "text_b": TEXTS[::-1]}),
    "stars": (TaskMetadata("classifier", LENGTH, True), lambda config: models.BertClassifier(config, 1),
              {"text": TEXTS}),
    "tagger": (TaskMetadata("token_classifier", LENGTH, True, ("O", "B-PER", "I-PER")),
               lambda config: models.BertTokenClassifier(config, 3), {"text": TEXTS}),
    "squad": (TaskMetadata("span_labeler", LENGTH, True, doc_stride=5, max_query_length=7), models.BertSpanLabeler,
              {"question": ["what stops ?", "where ?"], "context": [LONG, "the line"]}),
    "endings": (TaskMetadata("multiple_choice", LENGTH, True), models.BertMultipleChoice,
                {"text_a": ["it stops", LONG], "choices": [["a", "b c"], ["", LONG]]}),
    "masked_lm": (None, models.BertPretrainer, {"text": ["a [MASK] stops", "[MASK] [MASK]", "no mask"]}),
    "encoder": (None, lambda config: models.BertEncoder(config), {"text": TEXTS}),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory, reference):
    """For each of CARDS NAME, a checkpoint; NAME_served, a SavedModel; and NAME.tflite."""
    folder = tmp_path_factory.mktemp("load")
    toy_runs.write(folder, reference, {name: (card, make) for name, (card, make, _) in CARDS.items()})
    for name, (card, *_) in CARDS.items():
        given = {} if card else {"task": name, "max_seq_length": LENGTH}
        servable, _ = checkpoint.load(of_checkpoint(str(folder / name), **given))
        export.save(servable, str(folder / f"{name}_served"))
        static, _ = checkpoint.load(of_checkpoint(str(folder / name), **given), static_length=True)
        (folder / f"{name}.tflite").write_bytes(litert.convert(static, lengths=(LENGTH,), batch_sizes=(2,)))
    return folder


def load(folder, name, suffix=""):
    options = {} if suffix or CARDS[name][0] else {"max_seq_length": LENGTH}
    return bert_tf.load(folder / f"{name}{suffix}", **options)


def assert_equal(found, expected):
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        assert found[name].dtype == values.dtype
        if values.dtype.kind == "f":
            np.testing.assert_allclose(found[name], values, rtol=1e-5, atol=1e-5)
        else:
            np.testing.assert_array_equal(found[name], values)


@pytest.mark.parametrize("name", CARDS)
def test_a_checkpoint_and_its_exports_answer_alike(folder, name):
    card, _, request = CARDS[name]
    trained = load(folder, name)
    assert trained.kind == (card.kind if card else name)
    assert trained.inputs == tuple(request)
    assert trained.labels == (card.labels or None if card else None)
    assert trained.limit == LENGTH
    expected = trained(**request)
    for suffix, limit in (("_served", None), (".tflite", LENGTH)):
        exported = load(folder, name, suffix)
        assert (exported.kind, exported.inputs, exported.labels) == (trained.kind, trained.inputs, trained.labels)
        assert exported.limit == limit
        if suffix == "_served":
            assert exports.read_inputs(str(folder / f"{name}{suffix}"), "model") == trained.inputs
        assert_equal({each: value for each, value in exported(**request).items() if each != "sequence_output"},
                     {each: value for each, value in expected.items() if each != "sequence_output"})
        assert exported(**{each: [] for each in request})["was_cut"].shape == (0,)
    rows = trained.rows(**request, batch_size=3)
    assert [row.keys() for row in rows] == [row.keys() for row in KINDS[trained.kind].rows(expected)]
    assert [row["was_cut"] for row in rows] == expected["was_cut"].tolist()


def test_rows_are_what_the_script_writes(folder):
    requests = [{"text_a": "it stops", "choices": ["a", "b c", "d"][:number]} for number in (3, 2, 3)]
    (folder / "endings.jsonl").write_text("".join(json.dumps(each) + "\n" for each in requests))
    scripts.succeed("run.predict", folder, model="endings", input_file="endings.jsonl", output_file="answers.jsonl")
    rows = load(folder, "endings").rows(**{name: [each[name] for each in requests] for name in requests[0]})
    assert rows == [json.loads(line) for line in (folder / "answers.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("name", ["masked_lm", "encoder", "reviews", "pairs", "squad"])
def test_embeddings_of_a_checkpoint_are_the_mean_of_the_last_layer(folder, name):
    (folder / "texts.txt").write_text("\n".join(TEXTS) + "\n")
    scripts.succeed("run.extract_features", folder, init_checkpoint=name, input_file="texts.txt", layers="-1",
                    pooling="mean", output_file=f"{name}.npz", output_format="npz", max_seq_length=LENGTH)
    vectors = load(folder, name).encode(TEXTS, batch_size=3)
    assert vectors.dtype == np.float32
    with np.load(folder / f"{name}.npz") as arrays:
        np.testing.assert_allclose(vectors, arrays["vectors"][:, 0], rtol=0, atol=1e-5)


@pytest.mark.parametrize("suffix", ["_served", ".tflite"])
def test_embeddings_of_an_export(folder, suffix):
    expected = load(folder, "encoder").encode(TEXTS)
    exported = load(folder, "encoder", suffix)
    np.testing.assert_allclose(exported.encode(TEXTS), expected, rtol=0, atol=1e-5)
    assert exported.encode([]).shape == (0, expected.shape[1])
    with pytest.raises(InputError, match=r"reviews.*: an export of a classifier of text does not have embeddings"):
        load(folder, "reviews", suffix).encode(TEXTS)


def test_a_batch_has_an_example(folder):
    model = load(folder, "reviews", ".tflite")
    for answer in (lambda: model.rows(text=TEXTS, batch_size=0), lambda: load(folder, "encoder").encode(TEXTS, 0)):
        with pytest.raises(InputError, match="`batch_size`=0: it must be at least 1"):
            answer()


def test_general_names_of_texts(folder):
    for name, general in (("reviews", {"text_a": ["it stops"]}),
                          ("squad", {"text_a": ["what ?"], "text_b": ["the line"]})):
        model = load(folder, name)
        assert_equal(model(**general), model(**dict(zip(model.inputs, general.values(), strict=True))))
    rows = load(folder, "reviews").rows(text_a=[b"it stops\xff", "it \ud83d stops"])  # neither is UTF-8
    assert [row["label"] for row in rows] == [row["label"] for row in load(folder, "reviews", ".tflite").rows(
        text=[b"it stops\xff", "it \ud83d stops"])]


@pytest.mark.parametrize("file_format", ["tf1", "huggingface", "model_garden"])
def test_checkpoints_of_other_projects(folder, tmp_path, file_format):
    config = BertConfig.from_json_file(str(folder / "masked_lm" / "bert_config.json"))
    for _ in convert(str(folder / "masked_lm"), str(tmp_path / "new"), file_format, config,
                     str(folder / "masked_lm" / "vocab.txt")):
        pass
    place = tmp_path / "new"
    model = bert_tf.load(place, top_k=2, max_seq_length=LENGTH)
    assert model.kind == "masked_lm"
    expected = load(folder, "masked_lm").rows(text=["a [MASK] stops"])[0]["masks"][0][:2]
    (row,) = model.rows(text=["a [MASK] stops"])
    assert [each["piece"] for each in row["masks"][0]] == [each["piece"] for each in expected]
    if file_format == "tf1":  # a prefix, too
        assert bert_tf.load(str(place / "bert_model.ckpt"), max_seq_length=LENGTH).kind == "masked_lm"


def test_labels_that_no_file_names(folder, tmp_path):
    shutil.copytree(folder / "reviews", tmp_path / "bare")
    (tmp_path / "bare" / "task.json").unlink()
    (tmp_path / "labels.txt").write_text("bad\ngood\n")
    with pytest.raises(InputError, match="bare: the model has 2 outputs, and there are 0 label names; set `labels_fil"):
        bert_tf.load(tmp_path / "bare", task="classifier", max_seq_length=LENGTH)
    model = bert_tf.load(tmp_path / "bare", task="classifier", labels_file=tmp_path / "labels.txt",
                         max_seq_length=LENGTH)
    assert model.labels == ("bad", "good")
    assert model.rows(text=TEXTS) == load(folder, "reviews").rows(text=TEXTS)


@pytest.mark.parametrize(("place", "options", "message"), [
    ("nowhere", {}, "`model`=.*nowhere: no such file or folder"),
    ("nowhere.tflite", {}, "`model`=.*nowhere.tflite: no such file"),
    ("reviews", {"length": 3}, "there is no option length: the options are bert_config_file, do_lower_case, "),
    ("reviews", {"max_seq_length": "64"}, "`max_seq_length`=64: it must be of the type int"),
    ("reviews", {"max_seq_length": True}, "`max_seq_length`=True: it must be of the type int"),
    ("reviews", {"do_lower_case": "no"}, "`do_lower_case`=no: it must be of the type bool"),
    ("reviews", {"task": "tagger"}, "`task`=tagger: it must be one of encoder, masked_lm, classifier"),
    ("reviews", {"task": "span_labeler"}, "`task`=span_labeler: contradicts task.json"),
    ("reviews.tflite", {"max_seq_length": 8}, "`max_seq_length`=8: has no effect with `model`=.*reviews.tflite, which"),
    ("reviews_served", {"pairs": True}, "`pairs`=True: has no effect with `model`=.*reviews_served, which answers as"),
    ("masked_lm.tflite", {"top_k": 9}, "`top_k`=9: .*masked_lm.tflite was exported with `top_k`=5"),
    ("masked_lm_served", {"top_k": 9}, "`top_k`=9: .*masked_lm_served/1 was exported with `top_k`=5"),
])
def test_what_cannot_be_loaded(folder, place, options, message):
    with pytest.raises(InputError, match=message):
        bert_tf.load(folder / place, **options)


@pytest.mark.parametrize(("request_", "message"), [
    ({"text": ["a"]}, "inputs text: a model of kind classifier takes text_a, text_b"),
    ({"text_a": ["a"], "text_b": []}, "`text_b` must hold as many examples as `text_a`"),
    ({"text_a": "a", "text_b": "b"}, "`text_a` must be a list of texts, not str"),
    ({"text_a": ["a"], "text_b": [3]}, "`text_b` must hold texts, not int"),
])
@pytest.mark.parametrize("suffix", ["", "_served", ".tflite"])
def test_requests_that_cannot_be_answered(folder, suffix, request_, message):
    model = load(folder, "pairs", suffix)
    for answer in (model, model.rows):
        with pytest.raises(InputError, match=message):
            answer(**request_)


def test_a_litert_file_requires_no_tensorflow(folder):
    code = ("import sys\nsys.modules['tensorflow'] = None\nimport bert_tf\n"
            "print(bert_tf.load('reviews.tflite').rows(text_a=['it stops'])[0]['label'])\n")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=folder,
                          env={"PYTHONPATH": str(scripts.ROOT)})
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == load(folder, "reviews").rows(text=["it stops"])[0]["label"]


def test_importing_the_package_costs_nothing():
    assert not loaded_by("bert_tf") & {"numpy", "tensorflow", "absl", "json"}


def test_a_config_is_taken_where_none_lies_beside_the_weights(folder, tmp_path):
    shutil.copytree(folder / "masked_lm", tmp_path / "bare")
    config = tmp_path / "bare" / "bert_config.json"
    moved = config.rename(tmp_path / "config.json")
    with pytest.raises(InputError, match="`bert_config_file` is required"):
        bert_tf.load(tmp_path / "bare")
    smaller = dataclasses.replace(BertConfig.from_json_file(str(moved)), max_position_embeddings=16)
    (tmp_path / "small.json").write_text(smaller.to_json())
    with pytest.raises(InputError, match="`max_seq_length`=20: the model was made for at most 16"):
        bert_tf.load(tmp_path / "bare", bert_config_file=tmp_path / "small.json", max_seq_length=20)
    assert bert_tf.load(tmp_path / "bare", bert_config_file=moved, max_seq_length=20).limit == 20
