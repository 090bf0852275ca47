"""run.predict: a prediction for each row, in order, for every task and format of files."""

import json
import tempfile

import numpy as np
import pytest

from bert_tf.errors import InputError
from run.inference import predict, request_files
from run.inference.predict import open_model
from run.inference.settings import PredictionSettings
from tests import scripts
from tests.settings import resolved

pytestmark = pytest.mark.large

TEXTS = [
    "the debugger stops",
    "",
    "caf\u00e9 and na\u00efve \u4e2d\u6587",
    "line " * 40,
    "it prints\ta tab",
]


def predict_rows(path, requests, batch_size=2):
    """Returns the rows of a model."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        print(json.dumps(requests[0]), file=file, flush=True)
        model = open_model(
            resolved(PredictionSettings(model=str(path), input_file=file.name, output_file="-"))
        )
    return list(predict.predict_rows(model, requests, batch_size))


def test_the_script_writes_a_row_for_each_line(toys, tmp_path, capsys):
    """A row does not depend on the other rows of its batch."""
    (tmp_path / "reviews.txt").write_text("".join(f"{text}\n" for text in TEXTS), encoding="utf-8")
    output = tmp_path / "answers.jsonl"
    scripts.run_here(
        "run.predict",
        model=toys / "sst",
        input_file=tmp_path / "reviews.txt",
        output_file=output,
        batch_size=2,
    )
    assert capsys.readouterr().out == (
        f"{output}: predictions of a classifier for 5 rows; "
        "1 were too long for the model and were truncated\n"
    )
    rows = [json.loads(line) for line in output.read_text().splitlines()]
    assert [row["was_cut"] for row in rows] == [False, False, False, True, False]
    alone = predict_rows(toys / "sst", [{"text": text} for text in TEXTS], batch_size=1)
    for row, expected in zip(rows, alone, strict=True):
        assert (
            row["label"]
            == expected["label"]
            == max(row["probabilities"], key=row["probabilities"].get)
        )
        assert row["probabilities"] == pytest.approx(expected["probabilities"], abs=2e-6)


def test_tables(toys, tmp_path):
    (tmp_path / "rows.tsv").write_text(
        "id\tsentence2\tsentence1\n1\tit stops\tit prints\n2\ta\tb\n", encoding="utf-8"
    )
    scripts.run_here(
        "run.predict",
        model=toys / "pairs",
        input_file=tmp_path / "rows.tsv",
        columns="sentence1,sentence2",
        output_file=tmp_path / "answers.tsv",
    )
    header, *rows = [
        line.split("\t") for line in (tmp_path / "answers.tsv").read_text().splitlines()
    ]
    assert header == ["label", "probabilities.no", "probabilities.yes", "was_cut"]
    expected = predict_rows(
        toys / "pairs",
        [{"text_a": "it prints", "text_b": "it stops"}, {"text_a": "b", "text_b": "a"}],
    )
    assert [row[0] for row in rows] == [each["label"] for each in expected]
    assert [json.loads(row[2]) for row in rows] == pytest.approx(
        [each["probabilities"]["yes"] for each in expected], abs=2e-6
    )


@pytest.mark.parametrize(
    ("model", "request_", "keys"),
    [
        ("topics", {"text": "it stops"}, ["labels", "probabilities", "was_cut"]),
        ("stars", {"text": "it stops"}, ["value", "was_cut"]),
        ("tagger", {"text": "Mary wrote it ."}, ["words", "tags", "scores", "was_cut"]),
        (
            "squad",
            {"question": "What stops?", "context": "The debugger stops at the first line. " * 9},
            ["answer", "start", "end", "score", "null_score_diff", "answers", "was_cut"],
        ),
        (
            "swag",
            {"text_a": "It stops.", "choices": ["a", "b c", "d"]},
            ["choice", "probabilities", "was_cut"],
        ),
    ],
)
def test_rows_of_each_task(toys, model, request_, keys):
    (row,) = predict_rows(toys / model, [request_])
    assert list(row) == keys
    json.dumps(row, allow_nan=False)
    if model == "topics":
        assert row["labels"] == [
            name for name, value in row["probabilities"].items() if value > 0.5
        ]
    elif model == "tagger":
        assert row["words"] == request_["text"].split()
        assert {*row["tags"]} <= {"O", "B-PER", "I-PER"}
    elif model == "squad":
        assert (
            request_["context"][row["start"] : row["end"]]
            == row["answer"]
            == row["answers"][0]["text"]
        )
    elif model == "swag":
        assert row["choice"] == int(np.argmax(row["probabilities"]))
        assert sum(row["probabilities"]) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("rows.txt", "a film\n\nb\n\n"),
        ("rows.tsv", "text\na film\n\nb\n\n"),
        ("rows.csv", "text\r\na film\r\n\r\nb\r\n\n"),
        ("rows.jsonl", '{"text": "a film"}\n{"text": ""}\n{"text": "b"}\n{"text": ""}\n'),
    ],
)
def test_an_empty_text_is_a_request_in_every_format_and_a_byte_order_mark_is_not_text(
    tmp_path, name, content
):
    (tmp_path / name).write_bytes(b"\xef\xbb\xbf" + content.encode())
    assert [each["text"] for each in request_files.read(str(tmp_path / name), ["text"])] == [
        "a film",
        "",
        "b",
        "",
    ]


def test_choices_of_a_table_and_of_objects(tmp_path):
    (tmp_path / "rows.csv").write_text('text_a,first,second\n"a, b",c,d\n')
    (tmp_path / "rows.jsonl").write_text('{"q": "a, b", "c": ["c", "d"]}\n\n')
    for name, columns in (("rows.csv", ("text_a", "first", "second")), ("rows.jsonl", ("q", "c"))):
        requests = list(request_files.read(str(tmp_path / name), ("text_a", "choices"), columns))
        assert requests == [{"text_a": "a, b", "choices": ["c", "d"]}]


@pytest.mark.parametrize(
    ("name", "content", "inputs", "columns", "message"),
    [
        (
            "a.txt",
            "one\n",
            ("text_a", "text_b"),
            (),
            "a.txt:1: the model requires text_a and text_b, separated by ` ",
        ),
        (
            "a.tsv",
            "x\ty\n1\ta\tb\n",
            ("text",),
            ("y",),
            "a.tsv:2: must have 2 columns, but has 3; texts cannot contain t",
        ),
        (
            "a.csv",
            "x,text\n1,a, b\n",
            ("text",),
            (),
            "a.csv:2: must have 2 columns, but has 3; "
            "enclose texts that contain commas in double quotes",
        ),
        (
            "a.tsv",
            " text\tb c\n1\t2\n",
            ("text",),
            (),
            "a.tsv:1: has no column 'text'; the columns are ' text', 'b c'; set `columns`",
        ),
        (
            "a.txt",
            "x\ry\r",
            ("text",),
            (),
            r"a.txt: its lines end at \\r; save the file with line ends \\n",
        ),
        (
            "a.tsv",
            "x\ty\n",
            ("text",),
            ("x", "y"),
            "`columns`=x,y: the model requires text; set 1 columns",
        ),
        (
            "a.txt",
            "one\n",
            ("text",),
            ("x",),
            "`columns`=x: has no effect on lines of text; use a table",
        ),
        (
            "a.txt",
            "one\n",
            ("text_a", "choices"),
            (),
            "a.txt: the model requires text_a and choices, which do not fit on",
        ),
        (
            "a.tsv",
            "x\ty\n",
            ("text",),
            ("z",),
            "a.tsv:1: has no column 'z'; the columns are x, y; set `columns`",
        ),
        (
            "a.jsonl",
            '{"x": "a"}\n',
            ("text_a", "choices"),
            ("x",),
            "`columns`=x: the model requires text_a, choices; set",
        ),
        ("a.jsonl", '{"x": "a"}\n', ("text",), (), "a.jsonl:1: has no key 'text'; the keys are x"),
        (
            "a.jsonl",
            '{"text": "a", "id": 1}\n{"text": null}\n',
            ("text",),
            (),
            "jsonl:2: text is None; must be a string",
        ),
        (
            "a.jsonl",
            '{"text_a": "a", "choices": "b"}\n',
            ("text_a", "choices"),
            (),
            "jsonl:1: choices is 'b'; must be a ",
        ),
    ],
)
def test_invalid_files(tmp_path, name, content, inputs, columns, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=message):
        list(request_files.read(str(tmp_path / name), inputs, columns))


def test_special_characters_in_a_table_are_escaped(tmp_path):
    with predict.open_writer(str(tmp_path / "a.tsv")) as write:
        write({"label": "a\tb\\\n", "value": 0.5, "was_cut": True, "tags": ["x"]})
    assert (
        tmp_path / "a.tsv"
    ).read_text() == 'label\tvalue\twas_cut\ttags\na\\tb\\\\\\n\t0.5\ttrue\t["x"]\n'


@pytest.mark.parametrize("name", ["out.jsonl", "out.tsv"])
def test_numbers_that_are_not_finite(tmp_path, name):
    with (
        pytest.raises(
            InputError, match=rf"^{tmp_path}/{name}: cannot contain NaN or infinity; the model "
        ),
        predict.open_writer(str(tmp_path / name)) as write,
    ):
        write({"value": float("nan")})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"\n", b"\xff\n"])
def test_tables_without_a_header(tmp_path, content):
    path = tmp_path / "rows.tsv"
    path.write_bytes(content)
    with pytest.raises(
        InputError, match=r"rows\.tsv: has no header; the first line must name the columns$"
    ):
        next(request_files.read(str(path), ("text",)))
