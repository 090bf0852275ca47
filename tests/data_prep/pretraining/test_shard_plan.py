"""Text files cut into units, and what is wrong with files."""

import gzip
import random

import pytest

from data_prep.pretraining import shard_plan


def write(path, data):
    path.write_bytes(data)
    return str(path)


def read(units, **kwargs):
    """The text of each unit."""
    with shard_plan.TextReader() as reader:
        return [b"".join(reader.read(unit, **kwargs)) for unit in units]


def random_text(seed, num_documents):
    """Documents of random sizes, lines of up to 200 bytes, with one to three blank lines after each."""
    draw = random.Random(seed)
    return b"".join(b"".join(b"x" * draw.randint(1, 200) + b"\n" for _ in range(draw.randint(1, 9)))
                    + draw.choice([b"\n", b" \t\n", "\u3000\n\n".encode(), b"\n\n\n"]) for _ in range(num_documents))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("num_units", [1, 2, 5])
def test_units_are_the_text_cut_between_documents(tmp_path, monkeypatch, seed, num_units):
    monkeypatch.setattr(shard_plan, "SCAN_BYTES", 33)
    text = random_text(seed, 97)
    cut = text.index(b"\n", len(text) // 3) + 1
    paths = [write(tmp_path / "a.txt", text[:cut]), write(tmp_path / "b.txt.gz", gzip.compress(text[cut:], mtime=0))]

    units = shard_plan.plan_units(paths, num_units)
    texts = read(units, block_bytes=301)

    assert b"".join(texts) == text
    assert len(units) == num_units
    assert [len(part) for part in texts] == [unit.num_bytes for unit in units]
    for part in texts[:-1]:
        assert part.endswith(b"\n")
        assert not part.decode().splitlines()[-1].strip()  # it ends with a blank line
    sizes = [len(part) for part in texts]
    assert max(sizes) - min(sizes) < 9 * 201 + 7  # even, to within a document


def test_a_limit_makes_more_units(tmp_path):
    path = write(tmp_path / "a.txt", b"a\n\n" * 100)

    assert len(shard_plan.plan_units([path], max_bytes=300)) == 1
    assert [unit.num_bytes for unit in shard_plan.plan_units([path], max_bytes=299)] == [153, 147]
    assert len(shard_plan.plan_units([path], num_units=3, max_bytes=200)) == 3
    assert len(shard_plan.plan_units([path], num_units=3, max_bytes=31)) == 10


def test_a_document_that_goes_on_in_the_next_file_is_not_cut(tmp_path):
    paths = [write(tmp_path / "a.txt", b"a\nb\n"), write(tmp_path / "b.txt", b"c\n\nd\n")]

    assert read(shard_plan.plan_units(paths, 2)) == [b"a\nb\nc\n\n", b"d\n"]


def test_too_few_documents(tmp_path):
    path = write(tmp_path / "a.txt", b"a\nb\nc\n\nd\n")

    with pytest.raises(ValueError, match="9 bytes, cannot be cut into 3 shards: blank lines end too few documents"):
        shard_plan.plan_units([path], 3)


def test_text_without_blank_lines_is_not_read_into_memory(tmp_path):
    path = write(tmp_path / "a.txt", b"a sentence\n" * 300)

    with pytest.raises(ValueError, match=r"a.txt: no blank line, which would end a document, in 1,\d\d\d bytes: .*"
                                         r"`max_shard_mb`=0"):
        shard_plan.plan_units([path], max_bytes=1000)


def test_a_line_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr(shard_plan, "MAX_LINE_BYTES", 100)
    units = shard_plan.plan_units([write(tmp_path / "a.txt", b"b\n" + b"x" * 200)])

    with pytest.raises(ValueError, match=r"a.txt: a line of over 100 bytes"):
        read(units, block_bytes=11)


def test_progress_is_in_bytes_of_text(tmp_path):
    text = b"ab\nc\n\nd"
    paths = [write(tmp_path / "a.txt", text), write(tmp_path / "b.gz", gzip.compress(text, mtime=0))]
    steps = []

    assert read(shard_plan.plan_units(paths), on_progress=steps.append, block_bytes=3) == [text * 2]
    assert sum(steps) == 2 * len(text)


@pytest.mark.parametrize("data", [b"ab\n", gzip.compress(b"ab\n\n" * 99, mtime=0)[:-9]], ids=["no gzip", "truncated"])
def test_damaged_gzip(tmp_path, data):
    with pytest.raises(ValueError, match=r"a.gz: not a gzip file, or a damaged one"):
        shard_plan.plan_units([write(tmp_path / "a.gz", data)])


def test_a_file_that_is_gone(tmp_path):
    with pytest.raises(OSError, match=r"a.txt: cannot be read: .*No such file"):
        shard_plan.plan_units([str(tmp_path / "a.txt")])
