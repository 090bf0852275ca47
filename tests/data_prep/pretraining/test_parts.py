"""Division of text files into parts, and errors of files."""

import gzip
import os
import random

import pytest

from data_prep import reading
from data_prep.pretraining import parts
from tests.errors import Message, raises_message, rejects


def read(divided):
    """The text of each part."""
    return [b"".join(parts.read_part(part)) for part in divided]


def sizes(divided):
    return [sum(text.stop - text.start for text in part) for part in divided]


def make_text(seed, num_documents):
    """Documents of random sizes, with lines of up to 200 bytes, and one to three blank lines."""
    random_state = random.Random(seed)
    return b"".join(
        b"".join(
            b"x" * random_state.randint(1, 200) + b"\n" for _ in range(random_state.randint(1, 9))
        )
        + random_state.choice([b"\n", b" \t\n", "\u3000\n\n".encode(), b"\n\n\n"])
        for _ in range(num_documents)
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("num_parts", [1, 2, 5])
def test_parts_of_equal_size_end_between_documents(write, monkeypatch, seed, num_parts):
    monkeypatch.setattr(parts, "SCAN_BYTES", 33)
    text = make_text(seed, 97)
    cut = text.index(b"\n", len(text) // 3) + 1
    paths = [write("a.txt", text[:cut]), write("b.txt.gz", gzip.compress(text[cut:], mtime=0))]
    divided = parts.plan_parts(paths, num_parts)
    texts = read(divided)
    assert b"".join(texts) == text
    assert list(map(len, texts)) == sizes(divided)
    assert len(texts) == num_parts
    for part in texts[:-1]:
        assert part.endswith(b"\n")
        assert not part.decode().splitlines()[-1].strip()  # it ends with a blank line
    assert max(map(len, texts)) - min(map(len, texts)) < 9 * 201 + 7  # equal up to one document


def test_the_maximum_size_increases_the_number_of_parts(write):
    path = write("a.txt", b"a\n\n" * 100)
    assert len(parts.plan_parts([path], max_bytes=300)) == 1
    assert sizes(parts.plan_parts([path], max_bytes=299)) == [153, 147]
    assert len(parts.plan_parts([path], num_parts=3, max_bytes=200)) == 3
    assert len(parts.plan_parts([path], num_parts=3, max_bytes=31)) == 10


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        (
            b"a\nb\nc\n\nd\n",
            {"num_parts": 3},
            Message(None, "9 bytes of text", "into 3 shards", "too few documents", "decrease"),
        ),
        (
            b"a sentence\n" * 300,
            {"max_bytes": 1000},  # The file must not be read into memory.
            Message(
                "a.txt",
                "contains no end of a document",
                "a blank line after each",
                "`max_shard_mb`=0",
            ),
        ),
    ],
)
def test_too_few_documents(write, text, arguments, message):
    with raises_message(message):
        parts.plan_parts([write("a.txt", text)], **arguments)


def test_a_file_that_was_replaced_is_opened_again(write):
    path = write("a.txt", b"one\n")
    assert list(reading.read_blocks(path)) == [(b"one\n", 4)]
    os.remove(path)
    os.utime(write("a.txt", b"other\n"), (1, 1))
    assert list(reading.read_blocks(path)) == [(b"other\n", 6)]


@pytest.mark.parametrize("data", [b"ab\n", gzip.compress(b"ab\n\n" * 99, mtime=0)[:-9]])
def test_damaged_gzip_files(write, data):
    with rejects("a.gz", "is corrupted or not"):
        parts.plan_parts([write("a.gz", data)])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("ab\n\n".encode("utf-16"), Message(None, "is UTF-16", "save the file as UTF-8")),
        # Without a separator.
        (b"ab\rcd\r\r", Message(None, "its lines end at \\r", "save the file")),
    ],
)
def test_files_that_are_not_text(write, data, message):
    path = write("a.txt", data)
    with raises_message(message, file=path):
        read(parts.plan_parts([path]))


def test_a_missing_file(tmp_path):
    with pytest.raises(OSError, match=r"a.txt: cannot be read: .*No such file"):
        parts.plan_parts([str(tmp_path / "a.txt")])
