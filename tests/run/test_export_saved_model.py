"""run.export_saved_model: files and output of each format; the terminal scripts print the same for all formats."""

import io
import json
import re

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_text  # noqa: F401, registers the kernels of an export's tokenizer

from bert_tf import files, models
from bert_tf.checkpoints import load_pretrained
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.litert import LiteRTModel
from bert_tf.tasks.metadata import TaskMetadata
from bert_tf.tokenization import BertTokenizer
from data_prep.tasks import conll
from tests import remote_folders, scripts, toy_runs

pytestmark = pytest.mark.large

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


def test_a_tagger_tags_every_word_as_in_run_tagger(folder):
    """40 words, in two windows of 23 tokens or more, for a checkpoint and both formats of exports."""
    words = [("the", "debugger", "stops", "at", "Mary", "Shelley", ".")[number * number % 7] for number in range(40)]
    (folder / "words.txt").write_text("\n".join(f"{word} O" for word in words) + "\n")
    (folder / "text.txt").write_text(" ".join(words) + "\n")
    scripts.run_here("run.run_tagger", init_checkpoint="tagger", output_dir="tagged", do_predict=True,
                     test_file="words.txt", max_seq_length=23)
    expected = [line.split()[-1] for line in (folder / "tagged" / "test_predictions.txt").read_text().splitlines()]
    assert len(expected) == 40
    assert len({*expected}) > 1
    scripts.run_here(EXPORT, init_checkpoint="tagger", export_dir="long", with_litert="float32", lengths=23,
                     batch_sizes=2)
    for model in ("tagger", "long", "long/1/model.tflite"):
        scripts.run_here("run.predict", model=model, input_file="text.txt", output_file="tags.jsonl")
        row = json.loads((folder / "tags.jsonl").read_text())
        # run_tagger writes valid IOB2.
        assert (row["words"], conll.to_iob2(row["tags"]), row["was_cut"]) == (words, expected, False)


def test_bfloat16(folder):
    scripts.run_here(EXPORT, init_checkpoint="tagger", export_dir="half", compute="bfloat16", weights="bfloat16")
    variables = tf.train.load_checkpoint(str(folder / "half" / "1" / "variables" / "variables"))
    assert tf.bfloat16 in variables.get_variable_to_dtype_map().values()


@pytest.mark.extra_large
def test_litert_in_a_remote_directory(capsys):
    directory = remote_folders.new_folder()
    scripts.run_here(EXPORT, init_checkpoint="tagger", export_dir=directory, format="litert", weights="int8",
                     max_seq_length=17, lengths="8,64", batch_sizes=2)
    output = capsys.readouterr().out
    assert output.startswith(f"{directory}/model_int8.tflite: LiteRT model of a token_classifier with int8 weights, 0.")
    assert re.search(r"inputs text, up to 17 tokens; largest difference from the original model: "
                     r"\d\.\de-\d\d \(logits\)$", output.strip())
    assert list(files.at(directory).names()) == ["model_int8.tflite"]
    with files.at(f"{directory}/model_int8.tflite").local_copy() as path:
        assert LiteRTModel(path).metadata.labels == ("O", "B-PER", "I-PER")


@pytest.mark.extra_large
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
                         ({"model": f"whole/{name}"}, f"the length of {whole}"),
                         ({"init_checkpoint": name, "max_seq_length": 29}, "--max_seq_length=29")):
        capsys.readouterr()
        scripts.run_here(script, top_k=4, **flags, **request)
        printed.append(capsys.readouterr().out.replace(limit, "LIMIT"))
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


def test_pairs(exported, monkeypatch, capsys):
    """run.fill_mask and run.predict for the paper's examples, and a single text, give the same for all formats."""
    pairs = [("the man went to [MASK] store", "he bought a gallon [MASK] milk"), ("the man [MASK] to the store", "")]
    options = {"init_checkpoint": "pretrained", "task": "masked_lm", "pairs": True, "max_seq_length": 29}
    scripts.run_here(EXPORT, export_dir="whole/two", **options)
    assert "serving_default (text_a, text_b)" in capsys.readouterr().out
    scripts.run_here(EXPORT, export_dir="lite/two", format="litert", lengths=29, batch_sizes=1, **options)
    assert "(next_sentence_logits)" in capsys.readouterr().out
    is_next, masks = _predict_directly(BertTokenizer("pretrained/vocab.txt"), *pairs[0])
    (exported / "pairs.txt").write_text("".join(" ||| ".join(pair) + "\n" for pair in pairs))
    printed, written = [], []
    for flags in ({"model": "lite/two/model_float32.tflite"}, {"model": "whole/two"},
                  {"init_checkpoint": "pretrained", "max_seq_length": 29}):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b" ||| ".join(
            text.encode() for text in pairs[0]) + b"\n" + pairs[1][0].encode())))
        scripts.run_here("run.fill_mask", **flags)
        printed.append(capsys.readouterr().out)
        scripts.run_here("run.fill_mask", text=" ||| ".join(pairs[0]), **flags)
        assert capsys.readouterr().out == printed[-1][: printed[-1].index(pairs[1][0])]
        predicted = {"model": flags.get("model", "pretrained")}
        if "model" not in flags:
            predicted |= {"task": "masked_lm", "pairs": True, "max_seq_length": 29}
        scripts.run_here("run.predict", input_file="pairs.txt", output_file="answers.jsonl", **predicted)
        written.append([json.loads(line) for line in (exported / "answers.jsonl").read_text().splitlines()])
        capsys.readouterr()
    assert printed[0] == printed[1] == printed[2]
    lines = printed[0].splitlines()
    assert lines[0] == " ||| ".join(pairs[0])
    assert lines[1:3] == ["  " + "   ".join(f"{piece} {probability:.3f}" for piece, probability in mask)
                          for mask in masks]
    assert lines[3:5] == [f"  IsNext {is_next:.3f}", pairs[1][0]]
    assert len(lines) == 6
    for rows in written:
        assert [(list(row), len(row["masks"])) for row in rows] == [
            (["masks", "is_next", "was_cut"], number) for number in (2, 1)]
        assert rows[0]["is_next"] == pytest.approx(is_next, abs=1e-5)
        for found, expected in zip(rows[0]["masks"], masks, strict=True):
            assert [each["piece"] for each in found] == [piece for piece, _ in expected]
            assert [each["probability"] for each in found] == pytest.approx([each[1] for each in expected], abs=1e-5)


def _predict_directly(tokenizer, *texts):
    """Returns (is_next, masks), as in a row of run.predict, of the BertPretrainer in "pretrained" for a pair."""
    model = models.BertPretrainer(BertConfig.from_json_file("pretrained/bert_config.json"))
    load_pretrained(model, "pretrained")
    pieces = ["[CLS]"]
    for text in texts:
        for part in text.partition("[MASK]"):
            ids = tokenizer.tokenize([part])[0].numpy()
            pieces += ["[MASK]"] if part == "[MASK]" else [tokenizer.vocabulary[id_] for id_ in ids]
        pieces.append("[SEP]")
    ids, end = [tokenizer.vocabulary.index(piece) for piece in pieces], pieces.index("[SEP]") + 1
    outputs = model({"input_ids": tf.constant([ids]), "input_mask": tf.ones([1, len(ids)], tf.int32),
                     "segment_ids": tf.constant([[0] * end + [1] * (len(ids) - end)]),
                     "masked_lm_positions": tf.where(tf.equal([pieces], "[MASK]"))[tf.newaxis, :, 1]})
    best, best_ids = tf.math.top_k(tf.nn.softmax(outputs["masked_lm_logits"])[0], 5)
    masks = [[(tokenizer.vocabulary[id_], probability) for id_, probability in zip(*row, strict=True)]
             for row in zip(best_ids.numpy(), best.numpy(), strict=True)]
    return float(tf.nn.softmax(outputs["next_sentence_logits"])[0, 0]), masks


@pytest.mark.usefixtures("exported")
@pytest.mark.parametrize("model", ["whole/pretrained", "lite/pretrained/model_float32.tflite"])
def test_a_second_text_for_an_export_of_single_texts(model, monkeypatch, capsys):
    """It is a part of the text then."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a ||| [MASK]")))
    capsys.readouterr()
    for flags in ({}, {"text": "a ||| [MASK]"}):
        scripts.run_here("run.fill_mask", model=model, **flags)
        lines = capsys.readouterr().out.splitlines()
        assert (len(lines), lines[0]) == (2, "a ||| [MASK]")


@pytest.mark.usefixtures("exported")
@pytest.mark.parametrize(("flags", "message"), [
    ({"model": "lite/pretrained/model_float32.tflite"}, ": must be of kind span_labeler, but is of kind masked_lm"),
    ({"model": "whole/pretrained"}, "`model`=whole/pretrained: must be of kind span_labeler"),
    ({"model": "lite/squad/model_float32.tflite", "top_k": 9}, "`top_k`=9: must be at most 4, the `top_k` of"),
    ({"model": "whole/squad", "top_k": 9}, "`top_k`=9: must be at most 4, the `top_k` of the export whole"),
])
def test_exports_that_cannot_answer(flags, message):
    with pytest.raises(InputError, match=message):
        scripts.run_here("run.answer", question="a", context="b", **flags)
