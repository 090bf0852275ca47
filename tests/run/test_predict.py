"""run.predict: rows of every form in, the answers of every task out, in the order of the rows."""

import io
import json

import numpy as np
import pytest

from bert_tf import models
from bert_tf.errors import InputError
from bert_tf.export import litert
from bert_tf.model_folder.task_metadata import TaskMetadata
from bert_tf.serving import checkpoint, open_model
from bert_tf.serving.settings import of_checkpoint
from run.inference import predicting
from run.inference.formats import answer_files, request_files
from run.inference.settings import PredictionSettings
from tests import scripts, signature_files, toy_runs
from tests.settings import resolved

REVIEWS = ["the debugger stops", "", "caf\u00e9 and na\u00efve \u4e2d\u6587", "line " * 40, "it prints\ta tab"]
MODELS = {  # name -> its task and what makes its model
    "reviews": (TaskMetadata("classifier", 26, True, ("bad", "good")), lambda config: models.BertClassifier(config, 2)),
    "pairs": (TaskMetadata("classifier", 26, True, ("no", "yes"), pairs=True),
              lambda config: models.BertClassifier(config, 2)),
    "topics": (TaskMetadata("classifier", 26, True, ("a", "b", "c"), multi_label=True),
               lambda config: models.BertClassifier(config, 3)),
    "stars": (TaskMetadata("classifier", 26, True), lambda config: models.BertClassifier(config, 1)),
    "tagger": (TaskMetadata("token_classifier", 23, True, ("O", "B-PER", "I-PER")),
               lambda config: models.BertTokenClassifier(config, 3)),
    "squad": (TaskMetadata("span_labeler", 29, True, doc_stride=5, max_query_length=7), models.BertSpanLabeler),
    "endings": (TaskMetadata("multiple_choice", 26, True), models.BertMultipleChoice),
    "pretrained": (None, models.BertPretrainer),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory, reference):
    """A folder of output folders of runs, as MODELS names them."""
    folder = tmp_path_factory.mktemp("predict")
    toy_runs.write(folder, reference, MODELS)
    return folder


def predicted(folder, model, requests, batch_size=2, **given):
    """The answers of a model of MODELS."""
    settings = PredictionSettings(model=str(folder / model), input_file="-", input_format="jsonl",
                                  output_file="-").with_values(given)
    opened = open_model(resolved(settings))
    return list(predicting.answers(opened, requests, batch_size))


def test_a_checkpoint_and_its_export_answer_alike(folder):
    (folder / "reviews.txt").write_text("".join(f"{text}\n" for text in REVIEWS), encoding="utf-8")
    output = scripts.succeed("run.predict", folder, model="reviews", input_file="reviews.txt",
                             output_file="answers.jsonl", batch_size=2)
    assert output == ("answers.jsonl: answers of a classifier to 5 rows; 1 were longer than the model takes, and were "
                      "cut\n")
    scripts.succeed("run.export_saved_model", folder, init_checkpoint="reviews", export_dir="served/reviews")
    scripts.succeed("run.predict", folder, model="served/reviews", input_file="reviews.txt",
                    output_file="exported.jsonl", batch_size=2)
    answers = (folder / "answers.jsonl").read_text()
    assert answers == (folder / "exported.jsonl").read_text()
    rows = [json.loads(line) for line in answers.splitlines()]
    assert [row["was_cut"] for row in rows] == [False, False, False, True, False]
    alone = predicted(folder, "reviews", [{"text": text} for text in REVIEWS], batch_size=1)
    for row, expected in zip(rows, alone, strict=True):  # each row's own, in any batch
        assert row["label"] == expected["label"] == max(row["probabilities"], key=row["probabilities"].get)
        assert row["probabilities"] == pytest.approx(expected["probabilities"], abs=2e-6)


def test_half_a_surrogate_pair_is_dropped(folder, tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"text": "it \\ud83d stops"}\n{"text": "it  stops"}\n', encoding="utf-8")
    for model in ("reviews", "tagger"):
        predicting.run(resolved(PredictionSettings(
            model=str(folder / model), input_file=str(tmp_path / "rows.jsonl"), output_file=str(tmp_path / "a.jsonl"))))
        half, same = map(json.loads, (tmp_path / "a.jsonl").read_text(encoding="utf-8").splitlines())
        assert half.keys() == same.keys()


def test_a_table_in_and_a_table_out(folder):
    (folder / "rows.tsv").write_text("id\tsentence2\tsentence1\n1\tit stops\tit prints\n2\ta\tb\n", encoding="utf-8")
    scripts.succeed("run.predict", folder, model="pairs", input_file="rows.tsv", columns="sentence1,sentence2",
                    output_file="answers.tsv")
    header, *rows = [line.split("\t") for line in (folder / "answers.tsv").read_text().splitlines()]
    assert header == ["label", "probabilities.no", "probabilities.yes", "was_cut"]
    expected = predicted(folder, "pairs", [{"text_a": "it prints", "text_b": "it stops"},
                                           {"text_a": "b", "text_b": "a"}])
    assert [row[0] for row in rows] == [each["label"] for each in expected]
    assert [json.loads(row[2]) for row in rows] == pytest.approx([each["probabilities"]["yes"] for each in expected],
                                                                 abs=2e-6)


def test_standard_input_to_standard_output(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"it stops\xff\r\n\n")))
    assert list(request_files.read("-", ["text"])) == [{"text": "it stops"}, {"text": ""}]
    with answer_files.writer("-", False) as write:
        write({"value": 1.5})
    assert capsys.readouterr().out == '{"value": 1.5}\n'
    with pytest.raises(ValueError, match="`input_format`=tsv: a table is read from a file"):
        list(request_files.read("-", ["text"], file_format="tsv"))


@pytest.mark.parametrize(("model", "request_", "keys"), [
    ("topics", {"text": "it stops"}, ["labels", "probabilities", "was_cut"]),
    ("stars", {"text": "it stops"}, ["value", "was_cut"]),
    ("tagger", {"text": "Mary wrote it ."}, ["words", "tags", "scores", "was_cut"]),
    ("squad", {"question": "What stops?", "context": "The debugger stops at the first line. " * 9},
     ["answer", "start", "end", "score", "null_score_diff", "answers", "was_cut"]),
    ("endings", {"text_a": "It stops.", "choices": ["a", "b c", "d"]}, ["choice", "probabilities", "was_cut"]),
])
def test_what_each_task_answers(folder, model, request_, keys):
    (row,) = predicted(folder, model, [request_])
    assert list(row) == keys
    json.dumps(row, allow_nan=False)
    if model == "topics":
        assert row["labels"] == [name for name, value in row["probabilities"].items() if value > 0.5]
    elif model == "tagger":
        assert row["words"] == request_["text"].split()
        assert {*row["tags"]} <= {"O", "B-PER", "I-PER"}
    elif model == "squad":
        assert request_["context"][row["start"] : row["end"]] == row["answer"] == row["answers"][0]["text"]
    elif model == "endings":
        assert row["choice"] == int(np.argmax(row["probabilities"]))
        assert sum(row["probabilities"]) == pytest.approx(1, abs=1e-5)


def test_pre_trained_models_fill_masks_and_encode(folder):
    one, two, none = predicted(folder, "pretrained", [
        {"text": "a [MASK] stops"}, {"text": "[MASK] [MASK]"}, {"text": "no mask"}],
        task="masked_lm", top_k=3, max_seq_length=20)
    assert [len(row["masks"]) for row in (one, two, none)] == [1, 2, 0]
    assert [len(mask) for mask in two["masks"]] == [3, 3]
    (row,) = predicted(folder, "pretrained", [{"text": "a word"}], task="encoder", max_seq_length=20)
    assert len(row["vector"]) == 8


def test_questions_with_other_numbers_of_choices(folder):
    requests = [{"text_a": "It stops.", "choices": ["a", "b c", "d"][:number]} for number in (3, 2, 3, 2)]
    rows = predicted(folder, "endings", requests, batch_size=3)
    assert [len(row["probabilities"]) for row in rows] == [3, 2, 3, 2]
    assert rows[0] == rows[2]


def test_choices_of_a_table_and_of_objects(tmp_path):
    (tmp_path / "rows.csv").write_text('text_a,choice0,choice_1\n"a, b",c,d\n')
    (tmp_path / "rows.jsonl").write_text('{"q": "a, b", "c": ["c", "d"]}\n\n')
    inputs, expected = ("text_a", "choices"), [{"text_a": "a, b", "choices": ["c", "d"]}]
    assert list(request_files.read(str(tmp_path / "rows.csv"), inputs)) == expected
    assert list(request_files.read(str(tmp_path / "rows.csv"), inputs, ("text_a", "choice0", "choice_1"))) == expected
    assert list(request_files.read(str(tmp_path / "rows.jsonl"), inputs, ("q", "c"))) == expected


@pytest.mark.parametrize(("name", "content", "inputs", "columns", "message"), [
    ("a.txt", "one\n", ("text_a", "text_b"), (), "a.txt:1: the model takes text_a and text_b: ` \\|\\|\\| ` must"),
    ("a.txt", "one\n", ("text_a", "choices"), (), "`input_file`=.*a.txt: the model takes text_a and choices, which a"),
    ("a.tsv", "x\ty\n1\t2\n", ("text",), (), "a.tsv:1: there is no column 'text': the columns are x, y; `columns`"),
    ("a.tsv", "x\ty\n1\t2\n", ("text",), ("z",), "a.tsv:1: there is no column 'z'"),
    ("a.tsv", "x\ty\n1\t2\n3\n", ("text",), ("y",), "a.tsv:3: has 1 columns, the header 2"),
    ("a.tsv", "x\ty\n", ("text",), ("x", "y"), "`columns`=x,y: the model takes text; name 1"),
    ("a.jsonl", "{}\n", ("text",), (), "a.jsonl:1: has no key 'text'"),
    ("a.jsonl", '{"text": 3}\n', ("text",), (), "a.jsonl:1: text is 3: it must be a text"),
    ("a.jsonl", '{"text_a": "a", "choices": "b"}\n', ("text_a", "choices"), (), "choices is 'b': it must be a list"),
    ("a.jsonl", "[1]\n", ("text",), (), "a.jsonl:1: is not a JSON object"),
    ("a.jsonl", "[" * 100_000, ("text",), (), "a.jsonl:1: is not JSON"),
])
def test_files_that_cannot_be_read(tmp_path, name, content, inputs, columns, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=message):
        list(request_files.read(str(tmp_path / name), inputs, columns))


@pytest.mark.parametrize(("model", "given", "message"), [
    ("reviews", {"columns": ("z",)}, "rows.tsv:1: there is no column 'z': the columns are x, y"),
    ("reviews", {}, "rows.tsv:1: there is no column 'text': the columns are x, y; `columns` says which to take"),
    ("pairs", {"columns": ("x",)}, "`columns`=x: the model takes text_a, text_b; name 2"),
    ("reviews", {"input_file": "-", "input_format": "tsv"}, "`input_format`=tsv: a table is read from a file"),
    ("endings", {"input_file": "-"}, "`input_file`=-: the model takes text_a and choices, which a line of text cannot"),
    ("unread.tflite", {"columns": ("x", "z")}, "rows.tsv:1: there is no column 'z'"),
    ("served", {}, "rows.tsv:1: there is no column 'text_a': the columns are x, y; `columns` says which to take"),
    ("served", {"columns": ("x",)}, "`columns`=x: the model takes text_a, text_b; name 2"),
])
def test_a_file_without_the_columns_is_rejected_before_the_model_is_loaded(folder, model, given, message):
    (folder / "rows.tsv").write_text("x\ty\n1\t2\n")
    (folder / "unread.tflite").write_bytes(b"")
    signature_files.write(folder / "served", {"serving_default": (["text_a", "text_b"], ["label"])})
    settings = PredictionSettings(model=str(folder / model), output_file="-").with_values(
        {"input_file": str(folder / "rows.tsv"), **given})
    with pytest.raises(InputError, match=message):
        resolved(settings)


def test_a_litert_file_answers_as_its_checkpoint(folder):
    servable, _ = checkpoint.load(of_checkpoint(str(folder / "reviews")), static_length=True)
    (folder / "reviews.tflite").write_bytes(litert.convert(servable, lengths=(16,), batch_sizes=(2,)))
    requests = [{"text": text} for text in REVIEWS]
    for row, expected in zip(predicted(folder, "reviews.tflite", requests), predicted(folder, "reviews", requests),
                             strict=True):
        assert row == {**expected, "probabilities": pytest.approx(expected["probabilities"], abs=2e-6)}


def test_what_is_odd_in_a_table_is_escaped(tmp_path):
    with answer_files.writer(str(tmp_path / "a.tsv"), True) as write:
        write({"label": "a\tb\\\n", "value": 0.5, "was_cut": True, "tags": ["x"]})
    assert (tmp_path / "a.tsv").read_text() == 'label\tvalue\twas_cut\ttags\na\\tb\\\\\\n\t0.5\ttrue\t["x"]\n'


@pytest.mark.parametrize(("flags", "message"), [
    ({}, "--model is required"),
    ({"model": "reviews"}, "--input_file is required"),
    ({"model": "reviews", "input_file": "reviews/vocab.txt"}, "--output_file is required"),
    ({"model": "a.tflite", "max_seq_length": 128},
     "--max_seq_length=128: has no effect with --model=a.tflite, which answers as it was exported; leave it out"),
    ({"input_file": "reviews/vocab.txt", "output_file": "./reviews/vocab.txt", "model": "reviews"},
     "--output_file=./reviews/vocab.txt: is a file of --model=reviews, which would be lost"),
    ({"input_file": "reviews/vocab.txt", "output_file": "a.jsonl", "model": "none"},
     "--model=none: no such file or folder"),
    ({"input_file": "reviews/vocab.txt", "output_file": "a.jsonl", "model": "pretrained"},
     "--model=pretrained: no task.json there says what the model does; give --task, one of"),
])
def test_flags_that_are_refused(folder, flags, message):
    assert message in scripts.fail("run.predict", folder, **flags)
    assert not (folder / "a.jsonl").exists()
