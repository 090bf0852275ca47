"""Files that pandas, polars, and `datasets` wrote, and exports of doccano and Label Studio."""

import gzip

import pytest

from bert_tf import files
from data_prep import tables
from tests.conftest import REFERENCE
from tests.errors import Message, raises_message, rejects

FOLDER = REFERENCE / "tables"
ROWS = [
    ["text", "label"],
    ['He said "no",\tso', "neg"],
    ["a line\nbreak; and more", "pos"],
    ["café 中文", "neg"],
]


def read(path, **options):
    notes = []
    rows = tables.read_rows(str(path), None, tables.TableOptions(**options), notes)
    return [fields for _, fields in rows], notes


@pytest.mark.parametrize(
    "name",
    [
        "pandas.csv",
        "pandas.csv.gz",
        "pandas.parquet",
        "pandas.tsv",
        "pandas_lines.ndjson",
        "pandas_quote_all.tsv",
        "pandas_records.json",
        "pandas_semicolons.csv",
        "polars.ndjson",
        "polars.parquet",
        "polars.tsv",
        "datasets.parquet",
    ],
)
def test_rows_are_those_that_the_tool_wrote(name):
    assert read(FOLDER / name)[0] == ROWS


@pytest.mark.parametrize("name", ["pandas.csv", "pandas.parquet", "pandas_records.json"])
def test_the_content_counts_not_the_name(tmp_path, name):
    """Compressed or not."""
    content = (FOLDER / name).read_bytes()
    (tmp_path / "rows").write_bytes(content)
    assert read(tmp_path / "rows")[0] == ROWS
    if name != "pandas.parquet":
        (tmp_path / "rows").write_bytes(gzip.compress(content))
        assert read(tmp_path / "rows")[0] == ROWS


def test_names_of_classes():
    """Parquet of `datasets` has numbers and, in its metadata, their names; its CSV has numbers."""
    assert [row[2] for row in read(FOLDER / "glue.parquet")[0]][:3] == [
        "label",
        "not_equivalent",
        "equivalent",
    ]
    assert [row[1] for row in read(FOLDER / "datasets.csv")[0]] == ["label", "0", "1", "0"]
    assert read(FOLDER / "datasets_tags.parquet")[0][1] == [
        ["Anna", "Berg", "left"],
        ["B-PER", "I-PER", "O"],
    ]


def test_quotes_of_a_table_with_tabs():
    """A note names the dialect, and the option for the other one."""
    rows, notes = read(FOLDER / "quotes_pandas.tsv")
    assert rows[1:7] == [
        ['He said "no".', "neg"],
        ['"Great movie"', "pos"],
        ["plain one", "neg"],
        ['5" screen', "pos"],
        ['"', "neg"],
        ["it's ok", "pos"],
    ]
    assert notes == [
        f"note: {FOLDER}/quotes_pandas.tsv: is read as a table separated by tabs, with quoted "
        "fields; --table_dialect=tab reads it otherwise"
    ]
    rows, notes = read(FOLDER / "quotes_pandas.tsv", dialect="tab")
    assert (rows[1], notes) == (['"He said ""no""."', "neg"], [])


def test_a_csv_with_tabs_of_label_studio():
    rows, notes = read(FOLDER / "label_studio_tabs.csv")
    assert [row[5:7] for row in rows] == [
        ["sentiment", "text"],
        ["Positive", "good, film"],
        ["Negative", 'He said "no"'],
        ["Negative", "bad\nfilm"],
        ["Positive", "tab\there"],
        ["Negative", "plain"],
        ["Positive", "ok"],
    ]
    assert len(notes) == 1
    assert "separated by tabs, with quoted fields" in notes[0]


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (
            (FOLDER / "pandas.xlsx").read_bytes(),
            Message("rows", "is an Excel workbook", "save the sheet as"),
        ),
        (
            b"PK\x03\x04abc",
            Message("rows", "ZIP archive or an Excel workbook", "extract it, or save"),
        ),
        (
            b"\xd0\xcf\x11\xe0",
            Message("rows", "is an Excel or Word file", "save it as CSV"),
        ),
        (
            b"ARROW1\0\0",
            Message("rows", "is an Arrow or Feather file", "write Parquet or CSV instead"),
        ),
        (b"BZh91AY", Message("rows", "is compressed with bzip2", "decompress it", "with gzip")),
        (b"\x80\x04\x95\0", Message("rows", "is a Python pickle", "write CSV or Parquet instead")),
        (
            b"text\tlabel\na\0\t1\n",
            Message("rows", "is not a text file", "it contains bytes of value 0"),
        ),
        (b"PAR1abc", Message("rows", "is a corrupted Parquet file")),
        (
            gzip.compress(b"text\n" * 9, mtime=0)[:-9],
            Message("rows", "is corrupted", "not a gzip file"),
        ),
        (b'[{"text": "a"}, 3]', Message("rows", "element 2 is 3", "must be a JSON object")),
        (b'[{"text": "a"}, {"text"', Message("rows", "element 2", "is not a JSON object")),
    ],
)
def test_files_in_other_formats(tmp_path, start, message):
    (tmp_path / "rows").write_bytes(start)
    with raises_message(message):
        list(tables.read_rows(str(tmp_path / "rows")))


def test_a_large_json_array_is_read_in_chunks(tmp_path):
    """Records and characters cross the ends of chunks."""
    texts = [f"{number} é" * 5000 for number in range(150)]
    elements = ",\n".join(f'{{"text": "{text}"}}' for text in texts)
    (tmp_path / "rows.json").write_text(f"[{elements}]\n", encoding="utf-8")
    assert [fields[0] for fields in read(tmp_path / "rows.json")[0][1:]] == texts


def test_tables_without_a_header():
    path = FOLDER / "headerless.csv"
    rows = read(path, columns=("text", "label"))[0]
    assert rows[:2] == [["text", "label"], ["the plot was dreadful", "0"]]
    assert len(rows) == len(path.read_text().splitlines()) + 1
    with rejects("columns", "must name all 2 columns of ", value="text"):
        read(path, columns=("text",))
    with rejects("columns", "has no effect on ", value="a"):
        read(FOLDER / "glue.parquet", columns=("a",))
    # The names are not another row.
    assert read(FOLDER / "pandas.csv", columns=("text", "label"))[0] == ROWS


@pytest.mark.parametrize("name", ["pandas.parquet", "pandas_lines.ndjson", "pandas_records.json"])
def test_all_texts_of_records(name):
    texts = [*tables.read_all_texts(str(FOLDER / name), files.LineDecoder())]
    assert texts == [cell for row in ROWS[1:] for cell in row]


def test_all_texts_of_lines_and_lists():
    texts = tables.read_all_texts(str(FOLDER / "pandas.csv.gz"), files.LineDecoder())
    assert [*texts][-1] == "café 中文,neg"
    texts = tables.read_all_texts(str(FOLDER / "datasets_tags.parquet"), files.LineDecoder())
    assert {"Anna", "Rain"} <= {*texts}
