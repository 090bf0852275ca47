"""Division of text files into units, and errors of files."""

import gzip
import random

import pytest

from bert_tf.errors import InputError
from data_prep.sharding import text_units


def read(units, **kwargs):
    """The text of each unit."""
    with text_units.TextReader() as reader:
        return [b"".join(reader.read(unit, **kwargs)) for unit in units]


def make_text(seed, num_documents):
    """Documents of random sizes, with lines of up to 200 bytes and one to three blank lines after each."""
    random_state = random.Random(seed)
    return b"".join(b"".join(b"x" * random_state.randint(1, 200) + b"\n" for _ in range(random_state.randint(1, 9)))
                    + random_state.choice([b"\n", b" \t\n", "\u3000\n\n".encode(), b"\n\n\n"])
                    for _ in range(num_documents))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("num_units", [1, 2, 5])
def test_units_of_equal_size_end_between_documents(write, monkeypatch, seed, num_units):
    monkeypatch.setattr(text_units, "SCAN_BYTES", 33)
    text = make_text(seed, 97)
    cut = text.index(b"\n", len(text) // 3) + 1
    paths = [write("a.txt", text[:cut]), write("b.txt.gz", gzip.compress(text[cut:], mtime=0))]
    units = text_units.plan_units(paths, num_units)
    steps = []
    texts = read(units, block_bytes=301, on_progress=steps.append)
    assert b"".join(texts) == text
    assert len(units) == num_units
    assert [len(part) for part in texts] == [unit.num_bytes for unit in units]
    assert sum(steps) == len(text)
    for part in texts[:-1]:
        assert part.endswith(b"\n")
        assert not part.decode().splitlines()[-1].strip()  # it ends with a blank line
    sizes = [len(part) for part in texts]
    assert max(sizes) - min(sizes) < 9 * 201 + 7  # equal up to one document


def test_the_maximum_size_increases_the_number_of_units(write):
    path = write("a.txt", b"a\n\n" * 100)
    assert len(text_units.plan_units([path], max_bytes=300)) == 1
    assert [unit.num_bytes for unit in text_units.plan_units([path], max_bytes=299)] == [153, 147]
    assert len(text_units.plan_units([path], num_units=3, max_bytes=200)) == 3
    assert len(text_units.plan_units([path], num_units=3, max_bytes=31)) == 10


def test_a_document_can_continue_in_the_next_file(write):
    paths = [write("a.txt", b"a\nb\n"), write("b.txt", b"c\n\nd\n")]
    assert read(text_units.plan_units(paths, 2)) == [b"a\nb\nc\n\n", b"d\n"]


@pytest.mark.parametrize(("text", "arguments", "message"), [
    (b"a\nb\nc\n\nd\n", {"num_units": 3},
     "9 bytes of text cannot be split into 3 shards: too few documents; decrease"),
    (b"a sentence\n" * 300, {"max_bytes": 1000},  # must not be read into memory
     r"a.txt: contains no end of a document in 1,\d\d\d bytes; .* a blank line after each .*`max_shard_mb`=0"),
])
def test_too_few_documents(write, text, arguments, message):
    with pytest.raises(InputError, match=message):
        text_units.plan_units([write("a.txt", text)], **arguments)


def test_a_line_without_end(write, monkeypatch):
    monkeypatch.setattr(text_units, "MAX_LINE_BYTES", 100)
    units = text_units.plan_units([write("a.txt", b"b\n" + b"x" * 200)])
    with pytest.raises(InputError, match=r"a.txt: contains a line of over 100 bytes"):
        read(units, block_bytes=11)


@pytest.mark.parametrize("data", [b"ab\n", gzip.compress(b"ab\n\n" * 99, mtime=0)[:-9]])
def test_damaged_gzip_files(write, data):
    with pytest.raises(InputError, match=r"a.gz: is corrupted or not a gzip file"):
        text_units.plan_units([write("a.gz", data)])


@pytest.mark.parametrize(("name", "data", "message"), [
    ("a.txt", "ab\n\n".encode("utf-16"), "is UTF-16; save the file as UTF-8"),
    ("a.txt.gz", gzip.compress("ab\n\n".encode("utf-16"), mtime=0), "is UTF-16; save the file as UTF-8"),
    ("a.txt", b"ab\rcd\r\r", r"its lines end at \\r; save the file with line ends \\n"),
])
def test_files_that_are_not_text(write, name, data, message):
    path = write(name, data)
    with pytest.raises(InputError, match=rf"^{path}: {message}$"):
        read(text_units.plan_units([path]))


def test_a_missing_file(tmp_path):
    with pytest.raises(OSError, match=r"a.txt: cannot be read: .*No such file"):
        text_units.plan_units([str(tmp_path / "a.txt")])
