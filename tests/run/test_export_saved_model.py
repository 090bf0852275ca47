"""run.export_saved_model: files and output of each format; the terminal scripts print the same for all formats."""

import re

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_text  # noqa: F401, registers the kernels of an export's tokenizer

from bert_tf import files, models
from bert_tf.errors import InputError
from bert_tf.litert import LiteRTModel
from bert_tf.model_folder.task_metadata import TaskMetadata
from tests import remote_folders, scripts, toy_runs

EXPORT = "run.export_saved_model"
CONTEXT = "The debugger stops at the first line. " * 9
TERMINAL = {  # Directory -> task, script, and its flags.
    "pretrained": ("masked_lm", "run.fill_mask", {"text": ("a [MASK]", "word " * 40 + "[MASK]")}),
    "squad": ("span_labeler", "run.answer", {"context": CONTEXT, "question": ("What stops?", "Where? " * 9)}),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory, reference):
    folder = tmp_path_factory.mktemp("exports")
    toy_runs.write(folder, reference, {
        "pretrained": (None, models.BertPretrainer),
        "tagger": (TaskMetadata("token_classifier", 23, True, ("O", "B-PER", "I-PER")),
                   lambda config: models.BertTokenClassifier(config, 3)),
        "squad": (TaskMetadata("span_labeler", 29, True, doc_stride=5, max_query_length=7), models.BertSpanLabeler)})
    return folder


@pytest.fixture(autouse=True)
def current_directory(folder, monkeypatch):
    monkeypatch.chdir(folder)


def test_a_saved_model(folder, capsys):
    scripts.run_here(EXPORT, init_checkpoint="tagger", export_dir="served/tagger")
    output = capsys.readouterr().out
    assert output.startswith("served/tagger/1: SavedModel of a token_classifier, ")
    assert output.endswith("with the signatures serving_default (text), ids, and tf_example; labels O, B-PER, I-PER\n")
    assert (folder / "served" / "tagger" / "1" / "assets.extra" / "tf_serving_warmup_requests").stat().st_size > 0


def test_bfloat16(folder):
    scripts.run_here(EXPORT, init_checkpoint="tagger", export_dir="half", compute="bfloat16", weights="bfloat16")
    variables = tf.train.load_checkpoint(str(folder / "half" / "1" / "variables" / "variables"))
    assert tf.bfloat16 in variables.get_variable_to_dtype_map().values()


def test_litert_in_a_remote_directory(capsys):
    directory = remote_folders.new_folder()
    scripts.run_here(EXPORT, init_checkpoint="tagger", export_dir=directory, format="tflite", weights="int8",
                     max_seq_length=17, lengths="8,64", batch_sizes=2)
    output = capsys.readouterr().out
    assert output.startswith(f"{directory}/model_int8.tflite: LiteRT model of a token_classifier with int8 weights, 0.")
    assert re.search(r"inputs text, up to 17 tokens; largest difference from the original model: "
                     r"\d\.\de-\d\d \(logits\)$", output.strip())
    assert list(files.names_in(directory)) == ["model_int8.tflite"]
    with files.local_copy(f"{directory}/model_int8.tflite") as path:
        assert LiteRTModel(path).metadata.labels == ("O", "B-PER", "I-PER")


def test_litert_next_to_a_saved_model(folder, capsys):
    scripts.run_here(EXPORT, init_checkpoint="tagger", export_dir="both", with_litert="float32", max_seq_length=17,
                     lengths=17, batch_sizes=1)
    assert "both/1/model.tflite: LiteRT model with float32 weights, 0." in capsys.readouterr().out
    text = ["The debugger stops"]
    expected = tf.saved_model.load(str(folder / "both" / "1")).signatures["serving_default"](text=tf.constant(text))
    answer = LiteRTModel(str(folder / "both" / "1" / "model.tflite"))(text=text)
    np.testing.assert_array_equal(answer["tags"], expected["tags"])


@pytest.fixture(scope="module")
def exported(folder):
    """`folder`, with exports of TERMINAL to lite/NAME and whole/NAME."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, (task, *_) in TERMINAL.items():
            options = {"init_checkpoint": name, "task": task, "top_k": 4, "max_seq_length": 29}
            scripts.run_here(EXPORT, export_dir=f"whole/{name}", **options)
            scripts.run_here(EXPORT, export_dir=f"lite/{name}", format="litert", lengths=29, batch_sizes=1, **options)
    return folder


@pytest.mark.usefixtures("exported")
@pytest.mark.parametrize("name", TERMINAL)
def test_the_terminal_prints_the_same_for_all_formats(name, capsys):
    _, script, request = TERMINAL[name]
    lite, whole = f"lite/{name}/model_float32.tflite", f"whole/{name}/1"
    printed = []
    for flags, limit in (({"model": lite}, f"the length of {lite}"),
                         ({"saved_model": f"whole/{name}"}, f"the length of {whole}"),
                         ({"init_checkpoint": name, "max_seq_length": 29}, "--max_seq_length=29")):
        capsys.readouterr()
        scripts.run_here(script, top_k=4, latency=True, **flags, **request)
        output, latency, _ = capsys.readouterr().out.rpartition("latency: ")
        assert latency
        printed.append(output.replace(limit, "LIMIT"))
    assert printed[0] == printed[1] == printed[2]
    lines = printed[0].splitlines()
    if name == "pretrained":
        assert lines[0] == "a [MASK]"
        assert len(lines[1].split("   ")) == 4
        assert lines[-1] == "  the text exceeds LIMIT and was truncated, possibly including a [MASK]"
        return
    assert lines[0] == "What stops?"
    answer, span = lines[1].strip().split("  ")
    start, end = map(int, span.strip("[]").split(":"))
    assert CONTEXT[start:end] == answer
    scores = [float(line.split()[0]) for line in lines[2:6]]
    assert scores == sorted(scores, reverse=True)
    assert lines[-1] == "  the question or the context exceeds LIMIT and was truncated"


@pytest.mark.usefixtures("exported")
@pytest.mark.parametrize(("flags", "message"), [
    ({"model": "lite/pretrained/model_float32.tflite"}, ": must be of kind span_labeler, but is of kind masked_lm"),
    ({"saved_model": "whole/pretrained"}, "`saved_model`=whole/pretrained: must be of kind span_labeler"),
    ({"model": "lite/squad/model_float32.tflite", "top_k": 9}, "`top_k`=9: must be at most 4, the `top_k` of"),
    ({"saved_model": "whole/squad", "top_k": 9}, "`top_k`=9: must be at most 4, the `top_k` of the export whole"),
])
def test_exports_that_cannot_answer(flags, message):
    with pytest.raises(InputError, match=message):
        scripts.run_here("run.answer", question="a", context="b", **flags)
