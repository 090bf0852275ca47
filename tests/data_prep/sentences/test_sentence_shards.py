"""Files of sentences: shards, resumed runs, and errors."""

import functools
import gzip
import json
import os
import pathlib

import pytest

from bert_tf.errors import InputError
from data_prep.sentences import shards
from data_prep.sharding import local_runner, manifest

ENGLISH = "".join(f"The story of number {number}. It is by Dr. {name}.\nA second paragraph! It ends.\n\n"
                  for number, name in enumerate(["Smith", "Jones", "Brown", "Wilson"] * 5))
SENTENCES = ENGLISH.replace(". It is", ".\nIt is").replace("! It", "!\nIt")
WIKI = [f"Article {number} begins. It goes on.\n\nIt ends &amp; stops." for number in range(8)]
WIKI_SENTENCES = "".join(f"Article {number} begins.\nIt goes on.\n{{}}It ends & stops.\n\n" for number in range(8))


@pytest.fixture
def texts(write):
    """Paths of a file of each format. The last document of a file has no blank line."""
    json_lines = "".join(json.dumps({"title": "T", "text": text}) + "\n" for text in WIKI)
    docs = "".join(f'<doc id="1" title="T">\nT\n\n{text}\n\n</doc>\n' for text in WIKI)
    return [write("a.txt", ENGLISH.rstrip()), write("b.jsonl", json_lines), write("c.gz", gzip.compress(docs.encode()))]


@pytest.fixture
def split(tmp_path):
    """Function that splits files into sentences, and returns the Summary and the announced lines."""
    def split(input_files, folder="out", num_workers=1, **changes):
        lines = []
        create_shards = functools.partial(local_runner.create_shards, num_workers=num_workers)
        summary = shards.split_sentences(input_files, str(tmp_path / folder / "sentences.txt"),
                                         create_shards=create_shards, announce=lines.append, **changes)
        return summary, lines
    return split


def read(folder):
    """Returns a dict of the name of each file of sentences -> content."""
    return {path.name: path.read_bytes() for path in sorted(pathlib.Path(folder).glob("*.txt"))}


EXPECTED = (SENTENCES + WIKI_SENTENCES.format(*["\n"] * 8) + WIKI_SENTENCES.format(*[""] * 8)).encode()


def test_sentences_and_summary(tmp_path, texts, split):
    summary, lines = split(texts)
    assert read(tmp_path / "out") == {"sentences.txt": EXPECTED}
    assert lines == []
    assert summary.counts == shards.Counts(
        num_bytes=summary.num_bytes_made, num_documents=44, num_sentences=80 + 48, num_written=len(EXPECTED))
    assert str(summary).splitlines()[:2] == [
        f"read     {summary.num_bytes_made / 1e6:.2f} MB of text", "wrote    44 documents, 128 sentences, 0.00 MB"]


@pytest.mark.parametrize("num_shards", [2, 3, 9, 20])
def test_shards_contain_the_same_documents(tmp_path, texts, split, num_shards):
    split(texts, num_output_shards=num_shards)
    contents = read(tmp_path / "out")
    assert list(contents) == [f"sentences-{number:05}-of-{num_shards:05}.txt" for number in range(num_shards)]
    assert b"".join(contents.values()) == EXPECTED
    assert all(content.endswith(b"\n\n") for content in contents.values())


def test_the_maximum_size_counts_files_without_blank_lines(tmp_path, write, split):
    """Each file ends its last document."""
    paths = [write(f"{number:02}.txt", "A line. " * 20 + "\n") for number in range(10)]
    summary, lines = split(paths, max_shard_bytes=400)
    assert summary.num_shards == 5
    assert lines[0].startswith("`max_shard_mb`: splitting 0.0 MB of text into 5 shards, beginning with ")
    assert b"".join(read(tmp_path / "out").values()) == b"".join([b"A line.\n" * 20 + b"\n"] * 10)


def test_shards_do_not_depend_on_the_number_of_workers(tmp_path, texts, split):
    for num_workers in (1, 3):
        split(texts, folder=str(num_workers), num_output_shards=5, num_workers=num_workers)
    assert read(tmp_path / "1") == read(tmp_path / "3")
    assert (tmp_path / "1" / "sentences.txt.manifest.json").read_text() == (
        tmp_path / "3" / "sentences.txt.manifest.json").read_text()


def test_only_missing_shards_are_created(tmp_path, texts, split):
    first, _ = split(texts, num_output_shards=4)
    expected = read(tmp_path / "out")
    (tmp_path / "out" / "sentences-00001-of-00004.txt").unlink()
    kept = tmp_path / "out" / "sentences-00000-of-00004.txt"
    time = kept.stat().st_mtime_ns
    second, lines = split(texts, num_output_shards=4)
    assert (second.num_made, second.counts) == (1, first.counts)
    assert lines[1].endswith("sentences.txt: resuming; 3 of 4 shards are finished, 1 are missing")
    assert read(tmp_path / "out") == expected
    assert kept.stat().st_mtime_ns == time
    _, lines = split(texts, num_output_shards=4)
    assert "is complete; to regenerate it, delete " in lines[0]


def test_notes_of_a_run_whose_driver_was_killed_at_the_end(tmp_path, texts, split):
    split(texts, num_output_shards=3)
    path, expected = tmp_path / "out" / "sentences.txt.manifest.json", read(tmp_path / "out")
    content = json.loads(path.read_text())
    path.unlink()
    for index, entry in enumerate(content["shards"]):
        pathlib.Path(manifest._note_path(str(path), index)).write_text(json.dumps(
            {"made_from": manifest._digest_json(content["made_from"]), "index": index, "shard": entry}))
    summary, _ = split(texts, num_output_shards=3)
    assert summary.num_made == 0
    assert json.loads(path.read_text()) == content
    assert read(tmp_path / "out") == expected
    assert not [*(tmp_path / "out").glob("*.shard-*")]


@pytest.mark.parametrize(("changes", "message"), [
    ({"language": "de"}, "`language` was en, now de; choose another `output_dir`"),
    ({"text_format": "text"}, "`format` was text,json,doc, now text"),
    ({"num_output_shards": 2}, "`num_output_shards` was 1, now 2"),
])
def test_an_output_with_other_settings(texts, split, changes, message):
    split(texts)
    with pytest.raises(InputError, match=message):
        split(texts, **changes)


def test_an_output_of_another_version(texts, split, monkeypatch):
    split(texts)
    monkeypatch.setattr(shards.importlib.metadata, "version", lambda name: "9.9.9")
    with pytest.raises(InputError, match=r"`sentencex` was 1\.\S+, now 9\.9\.9"):
        split(texts)


@pytest.mark.parametrize("content", ["", "\n \n", '{"text": ""}\n{"text": " \\n"}\n', '<doc title="T">\nT\n\n</doc>\n'])
def test_text_without_sentences(tmp_path, write, split, content):
    with pytest.raises(InputError, match=r"^no sentence in \S*a\.txt; input files must have text in one of the"):
        split([write("a.txt", content)])
    assert list((tmp_path / "out").iterdir()) == []


def test_a_pipe(tmp_path, split):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match=r"^no sentence in \S*pipe; input files must have text in one of the"):
        split([str(tmp_path / "pipe")])


@pytest.mark.parametrize(("content", "message"), [
    ("", r"^no sentence in .*; input files must have text"),
    ("One.\n\n" + "\n" * 100, r"^shard 2 of 2, from byte \d+ of \S*a\.txt, would contain no sentence; decrease `num"),
    ("One.\nTwo.\n" * 9, r"90 bytes of text cannot be split into 2 shards: too few documents; decrease"),
])
def test_too_little_text_for_shards(write, split, content, message):
    with pytest.raises(InputError, match=message):
        split([write("a.txt", content)], num_output_shards=2)


def test_a_document_that_is_too_long(write, split):
    path = write("a.txt", '<doc title="T">\n' + "A line.\n" * 300 + "</doc>\n")
    with pytest.raises(InputError, match=r"a\.txt: contains no end of a document in 1,\d\d\d bytes; input files must "
                                         r"have text in one of .* `format`; to keep the .*, set `max_shard_mb`=0$"):
        split([path], max_shard_bytes=1000)


def test_an_error_leaves_no_partial_file(tmp_path, write, split):
    path = write("a.jsonl", '{"text": "One."}\n{"text"\n')
    with pytest.raises(InputError, match=r"a\.jsonl: the line from byte 17 is not a JSON object"):
        split([path])
    assert list((tmp_path / "out").iterdir()) == []


def test_bytes_that_are_not_utf8(tmp_path, write, split):
    summary, _ = split([write("a.txt", b"caf\xe9 one.\n\xff\xfe\nTwo.\n")])
    assert read(tmp_path / "out")["sentences.txt"] == b"caf one.\n\nTwo.\n\n"
    assert str(summary).splitlines()[-1] == "note: 2 lines contain bytes that are not UTF-8, which are ignored"
