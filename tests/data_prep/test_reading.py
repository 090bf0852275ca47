"""Blocks of text files, plain and compressed."""

import gzip

import pytest

from data_prep import reading

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
