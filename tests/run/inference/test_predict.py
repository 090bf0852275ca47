"""run.predict: a prediction for each row, in order, for every task and format of files."""

import dataclasses
import json
import tempfile

import numpy as np
import pytest

from data_prep import tables
from run.inference import predict, request_files
from run.inference.predict import open_requested_model
from run.inference.request_settings import RequestSettings
from run.inference.settings import PredictionSettings
from tests import scripts
from tests.conftest import REFERENCE
from tests.errors import Message, check_message, raises_message, rejects
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
        requests_file = RequestSettings(input_file=file.name)
        model = open_requested_model(
            resolved(PredictionSettings(model=str(path), requests=requests_file, output_file="-"))
        )
    rows = [request_files.Request(request, {}) for request in requests]
    return list(predict.predict_rows(model, rows, batch_size))


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
        "1 was too long for the model and truncated\n"
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
    assert [each.inputs["text"] for each in request_files.read(str(tmp_path / name), ["text"])] == [
        "a film",
        "",
        "b",
        "",
    ]


def test_choices_of_a_table_and_of_objects(tmp_path):
    (tmp_path / "rows.csv").write_text('text_a,first,second\n"a, b",c,d\n')
    (tmp_path / "rows.jsonl").write_text('{"q": "a, b", "c": ["c", "d"]}\n\n')
    for name, columns in (("rows.csv", ("text_a", "first", "second")), ("rows.jsonl", ("q", "c"))):
        options = request_files.RequestOptions(columns)
        requests = list(request_files.read(str(tmp_path / name), ("text_a", "choices"), options))
        assert requests == [({"text_a": "a, b", "choices": ["c", "d"]}, {})]


@dataclasses.dataclass(frozen=True)
class InvalidFile:
    """A file that cannot be read.

    Attributes:
      name: str. Name of the file.
      content: str. Content of the file.
      message: Message.
      inputs: Tuple of str. Names of the texts of a request.
      options: Dict of arguments of RequestOptions.
    """

    name: str
    content: str
    message: Message
    inputs: tuple = ("text",)
    options: dict = dataclasses.field(default_factory=dict)


@pytest.mark.parametrize(
    "case",
    [
        InvalidFile(
            "a.txt",
            "one\n",
            inputs=("text_a", "text_b"),
            message=Message("a.txt:1", "the model requires text_a and text_b", "separated by `"),
        ),
        InvalidFile(
            "a.tsv",
            "x\ty\n1\ta\tb\n",
            options={"columns": ("y",)},
            message=Message("a.tsv:2", "must have 2 columns", "has 3", "texts cannot contain tab"),
        ),
        InvalidFile(
            "a.csv",
            "x,text\n1,a, b\n",
            message=Message(
                "a.csv:2", "must have 2 columns", "has 3", "enclose texts", "in double quotes"
            ),
        ),
        InvalidFile(
            "a.tsv",
            " txt\tb c\n1\t2\n",
            message=Message(
                "a.tsv:1", "has no column 'text'", "the columns are ' txt', 'b c'", "set `columns`"
            ),
        ),
        InvalidFile(
            "a.txt",
            "x\ry\r",
            message=Message("a.txt", "its lines end at \\r", "save the file", "line ends \\n"),
        ),
        InvalidFile(
            "a.tsv",
            "x\ty\n",
            options={"columns": ("x", "y")},
            message=Message("columns", "the model requires text", "set 1 columns", value="x,y"),
        ),
        InvalidFile(
            "a.txt",
            "one\n",
            options={"columns": ("x",)},
            message=Message("columns", "has no effect on lines", "use a table", value="x"),
        ),
        InvalidFile(
            "a.txt",
            "one\n",
            inputs=("text_a", "choices"),
            message=Message("a.txt", "the model requires text_a and choices", "do not fit"),
        ),
        InvalidFile(
            "a.tsv",
            "x\ty\n",
            options={"columns": ("z",)},
            message=Message(
                "a.tsv:1", "has no column 'z'", "the columns are x, y", "set `columns`"
            ),
        ),
        InvalidFile(
            "a.jsonl",
            '{"x": "a"}\n',
            inputs=("text_a", "choices"),
            options={"columns": ("x",)},
            message=Message(
                "columns",
                "the model requires text_a, choices",
                value="x",
                end="; set at least 2 columns",
            ),
        ),
        InvalidFile(
            "a.jsonl",
            '{"x": "a"}\n',
            message=Message(
                "a.jsonl:1", "has no key 'text'", "the keys are x", end="; set `columns`"
            ),
        ),
        InvalidFile(
            "a.jsonl",
            '{"text": "a", "id": 1}\n{"text": null}\n',
            message=Message("a.jsonl:2", "text is None", "must be a string"),
        ),
        InvalidFile(
            "a.jsonl",
            '{"text_a": "a", "choices": "b"}\n',
            inputs=("text_a", "choices"),
            message=Message("a.jsonl:1", "choices is 'b'", "must be a list of strings"),
        ),
        InvalidFile(
            "a.csv",
            "text,text\na,b\n",
            message=Message("a.csv:1", "2 columns have the name 'text'", "rename all but one"),
        ),
        InvalidFile(
            "a.csv",
            "text\na\n",
            options={"id_columns": ("id",)},
            message=Message(None, "has no column 'id'", "set `id_column`"),
        ),
        InvalidFile(
            "a.txt",
            "one\n",
            options={"id_columns": ("id",)},
            message=Message("id_column", "has no effect on lines", "use a table", value="id"),
        ),
        InvalidFile(
            "a.jsonl",
            '{"text": "a"}\n{"x": "a"}\n',
            message=Message("a.jsonl:2", "has no key 'text'", end="the keys are x"),
        ),
    ],
)
def test_invalid_files(tmp_path, case):
    (tmp_path / case.name).write_text(case.content)
    options = request_files.RequestOptions(**case.options)
    with raises_message(case.message):
        list(request_files.read(str(tmp_path / case.name), case.inputs, options))


def test_special_characters_in_a_table_are_escaped(tmp_path):
    with predict.open_writer(str(tmp_path / "a.tsv")) as write:
        write({"label": "a\tb\\\n", "value": 0.5, "was_cut": True, "tags": ["x"]})
    assert (
        tmp_path / "a.tsv"
    ).read_text() == 'label\tvalue\twas_cut\ttags\na\\tb\\\\\\n\t0.5\ttrue\t["x"]\n'


@pytest.mark.parametrize("name", ["out.jsonl", "out.tsv"])
def test_numbers_that_are_not_finite(tmp_path, name):
    with (
        rejects(f"{tmp_path}/{name}", "cannot contain NaN or infinity", "the model"),
        predict.open_writer(str(tmp_path / name)) as write,
    ):
        write({"value": float("nan")})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"\n", b"\xff\n"])
def test_tables_without_a_header(tmp_path, content):
    path = tmp_path / "rows.tsv"
    path.write_bytes(content)
    with rejects("rows.tsv", "has no header", "the first line must name"):
        next(request_files.read(str(path), ("text",)))


TOOL_FILES = REFERENCE / "tables"


@pytest.mark.parametrize(
    ("name", "num_rows", "first"),
    [
        ("predict_lines.json", 3, "when are bears bears and "),
        ("json_array.json", 40, "good film"),
        ("reviews.csv.gz", None, "the scene was poor"),
        ("pandas.parquet", 3, 'He said "no",\tso'),
        ("pandas_lines.ndjson", 3, 'He said "no",\tso'),
        ("pandas.tsv", 3, 'He said "no",\tso'),
        ("polars.tsv", 3, 'He said "no",\tso'),
        ("label_studio_tabs.csv", 6, "good, film"),
    ],
)
def test_files_of_tools_are_rows_not_lines(name, num_rows, first):
    """For prediction and for extraction."""
    requests = list(request_files.read(str(TOOL_FILES / name), ["text"]))
    assert requests[0].inputs == {"text": first}
    if num_rows:
        assert len(requests) == num_rows
    assert [each.inputs["text"] for each in requests] == [
        text_a for text_a, _ in request_files.read_texts(str(TOOL_FILES / name))
    ]


def test_columns_with_common_names(tmp_path, capsys):
    """They are used with a note if the names of the inputs are missing."""
    glue = str(TOOL_FILES / "glue.parquet")
    requests = list(request_files.read(glue, ("text_a", "text_b")))
    assert requests[0] == ({"text_a": "a", "text_b": "c"}, {})
    check_message(capsys.readouterr().err, "note", glue, "reading sentence1, sentence2")
    options = request_files.RequestOptions(("sentence1", "sentence2"))
    assert list(request_files.read_texts(glue, options))[1] == ("b", "d")
    (tmp_path / "words.jsonl").write_text('{"tokens": ["a", "b"]}\n{"tokens": []}\n')
    path = str(tmp_path / "words.jsonl")
    assert [each.inputs["text"] for each in request_files.read(path, ["text"])] == ["a b", ""]
    check_message(capsys.readouterr().err, None, "2 texts are lists of words", "joined with spaces")


def test_a_table_in_a_file_of_another_name(tmp_path):
    """The header decides, or the dialect. Text with a comma is text."""
    (tmp_path / "rows.txt").write_text("id\ttext\n1\ta, b\n")
    (tmp_path / "lines.txt").write_text("a text, with a comma\n{not JSON}\n")
    (tmp_path / "one.txt").write_text("text\na\n")
    options = request_files.RequestOptions(id_columns=("id",))
    assert list(request_files.read(str(tmp_path / "rows.txt"), ["text"], options)) == [
        ({"text": "a, b"}, {"id": "1"})
    ]
    assert [
        each.inputs["text"] for each in request_files.read(str(tmp_path / "lines.txt"), ["text"])
    ] == ["a text, with a comma", "{not JSON}"]
    options = request_files.RequestOptions(dialect="tab")
    assert [
        each.inputs["text"]
        for each in request_files.read(str(tmp_path / "one.txt"), ["text"], options)
    ] == ["a"]


def test_a_table_without_a_header(capsys):
    path = str(TOOL_FILES / "headerless.csv")
    for columns in (("text", "label"), ("review", "label")):
        options = request_files.RequestOptions(columns, ("label",))
        first = next(request_files.read(path, ["text"], options))
        assert first == ({"text": "the plot was dreadful"}, {"label": "0"})
        check_message(
            capsys.readouterr().err, None, "headerless.csv", "has no header", "its columns are"
        )


@pytest.mark.parametrize(
    ("id_columns", "expected"),
    [
        (("id",), {"id": 7, "label": "x"}),
        (("*",), {"id": 7, "text": "a", "input.label": None, "label": "x"}),
    ],
)
def test_copied_columns(tmp_path, id_columns, expected):
    """They come first. A column with the name of a prediction gets another name."""

    class Model:
        inputs = ("text",)

        @staticmethod
        def predict(batch_size, text):
            return [{"label": "x"} for _ in text]

    (tmp_path / "rows.jsonl").write_text('{"id": 7, "text": "a", "label": null}\n')
    options = request_files.RequestOptions(id_columns=id_columns)
    requests = request_files.read(str(tmp_path / "rows.jsonl"), ["text"], options)
    (row,) = predict.predict_rows(Model, requests, 2)
    assert list(row.items()) == list(expected.items())


def test_a_csv_is_read_back(tmp_path):
    """By pandas too: texts with line breaks and quotes are quoted."""
    path = str(tmp_path / "a.csv")
    with predict.open_writer(path) as write:
        write({"id": "1", "label": 'a\n"b", c', "probabilities": {"x": 0.5}, "was_cut": True})
    assert (tmp_path / "a.csv").read_text() == (
        'id,label,probabilities.x,was_cut\n1,"a\n""b"", c",0.5,true\n'
    )
    assert [fields for _, fields in tables.read_rows(path)][1] == ["1", 'a\n"b", c', "0.5", "true"]


def test_names_of_outputs_that_are_not_written():
    with rejects("output_file", "must end in .csv or .tsv", value="a.parquet"):
        PredictionSettings(model="m", output_file="a.parquet").check()
