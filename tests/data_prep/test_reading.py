"""Blocks of text files, plain and compressed."""

import gzip

import pytest

from data_prep import reading
from tests.errors import Message, raises_message

TEXT = b"one sentence\nanother one\n" * 50


@pytest.mark.parametrize("name", ["corpus.txt.gz", "corpus.txt", "corpus"])
def test_gzip_is_recognized_by_content(tmp_path, name):
    (tmp_path / name).write_bytes(gzip.compress(TEXT))
    path = str(tmp_path / name)
    assert reading.count_bytes(path) == len(TEXT)
    assert b"".join(block for block, _ in reading.read_blocks(path, block_bytes=64)) == TEXT
    assert (
        b"".join(block for block, _ in reading.read_blocks(path, start=13, stop=37)) == TEXT[13:37]
    )


@pytest.mark.parametrize("content", [b"", b"a", b"plain\n"])
def test_short_plain_files(tmp_path, content):
    (tmp_path / "a.txt").write_bytes(content)
    assert reading.count_bytes(str(tmp_path / "a.txt")) == len(content)
    assert b"".join(block for block, _ in reading.read_blocks(str(tmp_path / "a.txt"))) == content


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (
            b"PAR1\x15\x04",
            Message(None, "is a Parquet file", "write its texts as lines"),
        ),
        (
            b"PK\x03\x04..xl/workbook.xml",
            Message(None, "is an Excel workbook", "save the sheet as CSV"),
        ),
        (b"BZh91AY", Message(None, "is compressed with bzip2", "decompress it", "with gzip")),
    ],
)
def test_files_that_are_not_text(tmp_path, start, message):
    (tmp_path / "corpus").write_bytes(start + b"\n" * 100)
    with raises_message(message, file=f"{tmp_path}/corpus"):
        list(reading.read_blocks(str(tmp_path / "corpus")))
