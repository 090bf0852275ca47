"""export_saved_model, fill_mask and answer: what the folder of a run says, what flags may change, answers as lines."""

import re

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_text  # noqa: F401, registers the kernels of an export's tokenizer

from bert_tf import models
from bert_tf.cli.cards import card_that_counts
from bert_tf.cli.model_settings import ModelSettings
from bert_tf.litert import LiteRTModel
from bert_tf.model_folder import task_metadata
from bert_tf.model_folder.finding import find
from bert_tf.serving import checkpoint, exports
from bert_tf.serving.settings import CheckpointSettings, of_checkpoint
from run.inference.settings import FillMaskSettings
from tests import scripts, toy_runs
from tests.settings import resolved

TASKS = {
    "tagger": task_metadata.TaskMetadata("token_classifier", 23, True, ("O", "B-PER", "I-PER")),
    "squad": task_metadata.TaskMetadata("span_labeler", 29, True, doc_stride=5, max_query_length=7),
    "reviews": task_metadata.TaskMetadata("classifier", 26, False, ("bad", "good"), pairs=True),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory, reference):
    """A folder of output folders of runs: checkpoint, config, vocabulary and, if fine-tuned, task in each."""
    folder = tmp_path_factory.mktemp("exports")
    toy_runs.write(folder, reference, {
        "pretrained": (None, models.BertPretrainer),
        "tagger": (TASKS["tagger"], lambda config: models.BertTokenClassifier(config, 3)),
        "squad": (TASKS["squad"], models.BertSpanLabeler)})
    return folder


def test_a_folder_needs_nothing_else(folder):
    output = scripts.succeed("run.export_saved_model", folder, init_checkpoint="tagger", export_dir="served/tagger")
    assert output.startswith("served/tagger/1: SavedModel of a token_classifier, ")
    assert output.endswith("with the signatures serving_default (text), ids and tf_example, labels O, B-PER, I-PER\n")
    assert (folder / "served" / "tagger" / "1" / "assets.extra" / "tf_serving_warmup_requests").stat().st_size > 0


def test_bfloat16(folder):
    """The export multiplies in bfloat16, and says nothing of it where the CPU can."""
    scripts.succeed("run.export_saved_model", folder, init_checkpoint="tagger", export_dir="served/half",
                    compute="bfloat16", weights="bfloat16")
    variables = tf.train.load_checkpoint(str(folder / "served" / "half" / "1" / "variables" / "variables"))
    assert tf.bfloat16 in variables.get_variable_to_dtype_map().values()


def test_litert(folder):
    output = scripts.succeed("run.export_saved_model", folder, init_checkpoint="tagger", export_dir="small",
                             format="tflite", weights="int8", max_seq_length=17, lengths="8,64", batch_sizes=2)
    assert output.startswith("small/model_int8.tflite: LiteRT model of a token_classifier with int8 weights, 0.")
    assert re.search(r"it takes text, up to 17 ids, and its numbers are within \d\.\de-\d\d \(logits\) of the whole "
                     r"model's$", output.strip())
    assert [path.name for path in (folder / "small").iterdir()] == ["model_int8.tflite"]
    assert LiteRTModel(str(folder / "small" / "model_int8.tflite")).metadata.labels == ("O", "B-PER", "I-PER")


def test_litert_beside_a_saved_model(folder):
    output = scripts.succeed("run.export_saved_model", folder, init_checkpoint="tagger", export_dir="both",
                             with_litert="float32", max_seq_length=17, lengths=17, batch_sizes=1)
    assert "both/1/model.tflite: LiteRT model with float32 weights, 0." in output
    request = {"text": ["The debugger stops"]}
    expected = tf.saved_model.load(str(folder / "both" / "1")).signatures["serving_default"](
        text=tf.constant(request["text"]))
    answer = LiteRTModel(str(folder / "both" / "1" / "model.tflite"))(**request)
    np.testing.assert_array_equal(answer["tags"], expected["tags"])


def test_litert_answers_in_the_terminal(folder):
    """By --model, whatever it is; the LiteRT model without TensorFlow."""
    for name, task, script, asked in (
            ("pretrained", "masked_lm", "run.fill_mask", {"text": ("a [MASK]", "word " * 11 + "[MASK]")}),
            ("squad", "span_labeler", "run.answer", {"context": "The debugger stops at the first line. " * 9,
                                                     "question": ("What stops?", "Where? " * 9)})):
        scripts.succeed("run.export_saved_model", folder, init_checkpoint=name, export_dir=f"lite/{name}", task=task,
                        format="litert", lengths=29, batch_sizes=1, top_k=4, max_seq_length=29)
        scripts.succeed("run.export_saved_model", folder, init_checkpoint=name, export_dir=f"whole/{name}", task=task,
                        top_k=4, max_seq_length=29)
        lite, whole = f"lite/{name}/model_float32.tflite", f"whole/{name}"
        answers = [scripts.succeed(script, folder, model=model, **asked) for model in (lite, whole)]
        assert answers[0].replace(lite, "MODEL") == answers[1].replace(f"{whole}/1", "MODEL")
        assert scripts.fail(script, folder, model=lite, top_k=9, **asked).endswith(
            f"--top_k=9: {lite} was exported with --top_k=4")
    assert scripts.fail("run.answer", folder, model="lite/pretrained/model_float32.tflite", question="a",
                        context="b").endswith(": is not of a span_labeler, but of a masked_lm")
    assert scripts.fail("run.answer", folder, model="none.tflite", question="a", context="b").endswith(
        "--model=none.tflite: no such file")
    assert scripts.fail("run.answer", folder, model="x.tflite", saved_model="y", question="a", context="b").endswith(
        "--saved_model=y: --model has its own weights; give one of them")


def test_answers_of_a_checkpoint_and_of_its_export(folder):
    scripts.succeed("run.export_saved_model", folder, init_checkpoint="squad", export_dir="served/squad", top_k=4)
    (folder / "context.txt").write_text("The debugger stops at the first line. " * 9, encoding="utf-8")
    asked = {"context_file": "context.txt", "question": ("What stops?", "Where? " * 9), "top_k": 4, "latency": True}
    exported = scripts.succeed("run.answer", folder, saved_model="served/squad", **asked).splitlines()
    trained = scripts.succeed("run.answer", folder, init_checkpoint="squad", **asked).splitlines()
    assert exported[:-1] == [line.replace("--max_seq_length=29", "served/squad/1") for line in trained[:-1]]
    assert exported[-1].startswith("an answer takes ")
    assert exported[0] == "What stops?"
    answer, span = exported[1].strip().split("  ")
    start, end = map(int, span.strip("[]").split(":"))
    assert (folder / "context.txt").read_text()[start:end] == answer
    scores = [line.split()[0] for line in exported[2:6]]
    assert scores == sorted(scores, key=float, reverse=True)
    assert exported[-2] == "  the question or the context is longer than served/squad/1 allows, and was cut"


def test_fill_mask_of_an_export(folder):
    scripts.succeed("run.export_saved_model", folder, init_checkpoint="pretrained", export_dir="served/bert",
                    task="masked_lm", top_k=3, max_seq_length=11)
    first, answer, second, cut = scripts.succeed(
        "run.fill_mask", folder, saved_model="served/bert", text=("a [MASK]", "word " * 11 + "[MASK]")).splitlines()
    assert (first, second.split()[-1]) == ("a [MASK]", "[MASK]")
    assert len(answer.split("   ")) == 3
    assert cut == "  the text was cut, and perhaps a [MASK] with it: served/bert/1 allows fewer pieces"
    assert "--top_k=9: served/bert/1 was exported with --top_k=3" in scripts.fail(
        "run.fill_mask", folder, saved_model="served/bert", text="[MASK]", top_k=9)


def test_an_exported_encoder_fills_no_masks(folder):
    scripts.succeed("run.export_saved_model", folder, init_checkpoint="pretrained", export_dir="served/vectors",
                    task="encoder", max_seq_length=11)
    for script, asked in (("run.fill_mask", {"text": "a [MASK]"}), ("run.answer", {"question": "a", "context": "b"})):
        kind = {"run.fill_mask": "masked_lm", "run.answer": "span_labeler"}[script]
        assert scripts.fail(script, folder, saved_model="served/vectors", **asked).endswith(
            f"--saved_model=served/vectors: is not of a {kind}")


def test_what_lies_in_the_folder_above_is_taken_for_best_alone(tmp_path):
    task_metadata.keep(tmp_path, TASKS["reviews"])
    for name in ("best", "other"):
        (tmp_path / name).mkdir()
    assert task_metadata.read(str(tmp_path / "best" / "ckpt-3")) == TASKS["reviews"]
    assert task_metadata.read(str(tmp_path / "other" / "ckpt-3")) is None


@pytest.mark.parametrize(("content", "message"), [
    ("{", "is not JSON"), ("[]", "not a task file of these scripts"), ('{"kind": "x"}', "not a task file"),
    ('{"kind": 3, "max_seq_length": 7, "do_lower_case": true}', "kind is 3: it must be a name"),
    ('{"kind": "classifier", "max_seq_length": "7", "do_lower_case": true}', "'7': it must be a whole number"),
    ('{"kind": "classifier", "max_seq_length": 7, "do_lower_case": true, "labels": "ab"}', "a list of names"),
])
def test_task_files_that_cannot_be_read(tmp_path, content, message):
    (tmp_path / "task.json").write_text(content)
    with pytest.raises(ValueError, match=message):
        task_metadata.read(str(tmp_path))


def test_a_kind_that_is_not_known(tmp_path):
    task_metadata.keep(tmp_path, task_metadata.TaskMetadata("juggler", 7, True))
    with pytest.raises(ValueError, match="kind is 'juggler': it must be one of encoder, masked_lm, classifier"):
        of_checkpoint(str(tmp_path))


@pytest.mark.parametrize(("flags", "message"), [
    ({"init_checkpoint": "nowhere", "task": "encoder"},
     "`bert_config_file` is required: there is no bert_config.json beside `init_checkpoint`=nowhere"),
    ({"init_checkpoint": "pretrained"}, "`init_checkpoint`=pretrained: no task.json there says what the model does; "
                                        "give `task`, one of encoder, masked_lm, classifier"),
    ({"init_checkpoint": "pretrained", "task": "multiple_choice", "max_seq_length": 32},
     "`init_checkpoint`=pretrained: is not of a fine-tuned multiple_choice, it lacks output_weights, output_bias"),
    ({"init_checkpoint": "squad", "max_seq_length": 33}, "`max_seq_length`=33: the model was made for at most 32"),
    ({"init_checkpoint": "squad", "max_query_length": 26},
     "`max_seq_length`=29: it must be over `max_query_length` + 3, 29"),
    ({"init_checkpoint": "squad", "task": "classifier"}, "`task`=classifier: contradicts task.json of "
                                                         "`init_checkpoint`=squad, which says span_labeler"),
])
def test_models_that_cannot_be_served(folder, monkeypatch, flags, message):
    monkeypatch.chdir(folder)
    with pytest.raises(ValueError, match=re.escape(message)):
        checkpoint.load(resolved(CheckpointSettings().with_values(flags)))


def card(folder, **given):
    """What the model of a folder is served as, if it had a config and a vocabulary."""
    settings = CheckpointSettings(model=ModelSettings(init_checkpoint=str(folder))).with_values(given)
    return card_that_counts(settings, given, find({"init_checkpoint": str(folder)}))


def labels_file(folder, *labels):
    """The path of a file of label names."""
    (folder / "labels.txt").write_text("".join(f"{label}\n" for label in labels))
    return str(folder / "labels.txt")


def test_flags_that_contradict_the_task(tmp_path):
    task_metadata.keep(tmp_path, TASKS["reviews"])
    metadata = card(tmp_path, max_seq_length=19)
    assert (metadata.kind, metadata.labels, metadata.pairs, metadata.do_lower_case, metadata.max_seq_length) == (
        "classifier", ("bad", "good"), True, False, 19)
    for given, message in (({"do_lower_case": True}, "`do_lower_case` says True: contradicts task.json"),
                           ({"pairs": False}, "`pairs` says False: contradicts"),
                           ({"labels_file": labels_file(tmp_path, "x")}, r"`labels_file` says \('x',\): contradicts")):
        with pytest.raises(ValueError, match=message):
            card(tmp_path, **given)
    encoder = card(tmp_path, task="encoder", pairs=False)
    assert (encoder.kind, encoder.pairs, encoder.do_lower_case, encoder.max_seq_length) == ("encoder", False, False, 26)


def test_accents_that_contradict_the_task(tmp_path):
    task_metadata.keep(tmp_path, task_metadata.TaskMetadata("classifier", 26, True, ("bad", "good")))
    assert card(tmp_path, strip_accents=True).strip_accents is None
    with pytest.raises(ValueError, match=r"`strip_accents` says False: contradicts task\.json of .*, which says True"):
        card(tmp_path, strip_accents=False)


def test_labels_without_names_may_be_given_some(tmp_path):
    (tmp_path / "config.json").write_text('{"architectures": ["BertForSequenceClassification"]}')
    assert card(tmp_path).labels == ("LABEL_0", "LABEL_1")
    assert card(tmp_path, labels_file=labels_file(tmp_path, "bad", "good")).labels == ("bad", "good")
    with pytest.raises(ValueError, match=r"`labels_file` says \('x',\): contradicts config.json of .*'LABEL_1'"):
        card(tmp_path, labels_file=labels_file(tmp_path, "x"))


def test_saved_models_that_cannot_be_asked(tmp_path):
    for places, message in (({}, "`init_checkpoint` is required, or `saved_model`, or `model`"),
                            ({"saved_model": str(tmp_path), "init_checkpoint": "model"},
                             "`init_checkpoint`=model: `saved_model` has its own weights; give one of them")):
        with pytest.raises(ValueError, match=message):
            resolved(FillMaskSettings().with_values(places))
    with pytest.raises(ValueError, match="holds no SavedModel"):
        exports.newest_version(str(tmp_path))
    for name in ("2", "10"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "saved_model.pb").touch()
    assert exports.newest_version(str(tmp_path)) == str(tmp_path / "10")


@pytest.mark.parametrize(("script", "flags", "message"), [
    ("run.answer", {"model": "x.tflite", "question": "Who?"}, "either --context or --context_file is required"),
    ("run.answer", {"model": "x.tflite", "context_file": "none.txt"}, "--context_file=none.txt: no such file"),
    ("run.export_saved_model", {"export_dir": "x", "format": "tflite", "compute": "bfloat16"},
     "--compute=bfloat16: goes with --format=saved_model"),
    ("run.export_saved_model", {"export_dir": "x", "weights": "float16"},
     "--weights=float16: --format=saved_model stores float32, bfloat16, int8"),
    ("run.export_saved_model", {"export_dir": "x", "format": "litert", "with_litert": "int8"},
     "--with_litert=int8: goes with --format=saved_model"),
    ("run.export_saved_model", {"export_dir": "x", "lengths": "0"}, "--lengths"),
    ("run.export_saved_model", {"export_dir": "x"}, "--init_checkpoint is required"),
    ("run.export_saved_model", {"init_checkpoint": "x", "export_dir": "x", "labels_file": "none.txt"},
     "--labels_file=none.txt: no such file"),
])
def test_flags_that_are_refused_at_once(script, flags, message):
    assert message in scripts.fail(script, **flags)
