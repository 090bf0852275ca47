"""The script split_sentences: its files of sentences, its settings, and a run that is killed."""

import functools
import gzip
import json
import pathlib

import pytest

from data_prep.sentences import SentenceSettings, job
from tests import scripts
from tests.errors import Message, check_message, raises_message, rejects

SCRIPT = "data_prep.split_sentences"
TEXT = "It begins. It goes on.\nIt ends.\n\n"
ENGLISH = "".join(
    f"The story of number {number}. It is by Dr. {name}.\nA second paragraph! It ends.\n\n"
    for number, name in enumerate(["Smith", "Jones", "Brown", "Wilson"] * 5)
)
SENTENCES = ENGLISH.replace(". It is", ".\nIt is").replace("! It", "!\nIt")
WIKI = [f"Article {number} begins. It goes on.\n\nIt ends &amp; stops." for number in range(8)]
WIKI_SENTENCES = "".join(
    f"Article {number} begins.\nIt goes on.\n{{}}It ends & stops.\n\n" for number in range(8)
)
EXPECTED = (
    SENTENCES + WIKI_SENTENCES.format(*["\n"] * 8) + WIKI_SENTENCES.format(*[""] * 8)
).encode()


@pytest.fixture
def input_file(write):
    """Value of input_file: a file of each format. The last document of a file has no blank line."""
    json_lines = "".join(json.dumps({"title": "T", "text": text}) + "\n" for text in WIKI)
    docs = "".join(f'<doc id="1" title="T">\nT\n\n{text}\n\n</doc>\n' for text in WIKI)
    return ",".join(
        [
            write("a.txt", ENGLISH.rstrip()),
            write("b.jsonl", json_lines),
            write("c.gz", gzip.compress(docs.encode())),
        ]
    )


def split(tmp_path, input_file, **settings):
    """Splits files into sentences, and returns the Counts."""
    return job.run(SentenceSettings(input_file, str(tmp_path / "out"), **settings))


def read(folder):
    """Returns a dict of the name of each file -> content."""
    return {path.name: path.read_bytes() for path in sorted(pathlib.Path(folder).iterdir())}


def test_sentences_and_counts(tmp_path, input_file, capsys):
    counts = split(tmp_path, input_file)
    assert read(tmp_path / "out") == {"sentences.txt": EXPECTED}
    num_bytes = sum(
        len((gzip.open if path.endswith(".gz") else open)(path, "rb").read())
        for path in input_file.split(",")
    )
    num_read = sum(pathlib.Path(path).stat().st_size for path in input_file.split(","))
    assert counts == job.Counts(
        num_bytes, num_read, num_documents=44, num_sentences=80 + 48, num_written=len(EXPECTED)
    )
    assert (
        capsys.readouterr().out.splitlines()[1] == "wrote    44 documents, 128 sentences, 0.00 MB"
    )


@pytest.mark.parametrize("num_files", [2, 3, 9, 20])
def test_several_files_contain_the_same_documents(tmp_path, input_file, num_files):
    split(tmp_path, input_file, num_output_shards=num_files)
    contents = read(tmp_path / "out")
    assert list(contents) == [
        f"sentences-{number:05}-of-{num_files:05}.txt" for number in range(num_files)
    ]
    assert b"".join(contents.values()) == EXPECTED
    assert all(content.endswith(b"\n\n") for content in contents.values())
    assert max(map(len, contents.values())) < 2 * len(EXPECTED) / num_files + 200


def test_bytes_that_are_not_utf8(tmp_path, write, capsys):
    split(tmp_path, write("a.txt", b"caf\xe9 one.\n\xff\xfe\nTwo.\n"))
    assert read(tmp_path / "out") == {"sentences.txt": b"caf one.\n\nTwo.\n\n"}
    line = capsys.readouterr().err.splitlines()[-1]
    check_message(line, "note", "2 lines", "not UTF-8", "ignored")


@pytest.mark.parametrize(
    "content", ["", "\n \n", '{"text": ""}\n{"text": " \\n"}\n', '<doc title="T">\nT\n\n</doc>\n']
)
def test_text_without_sentences(tmp_path, write, content):
    with rejects(None, "no sentence in", "a.txt", "input files must have text"):
        split(tmp_path, write("a.txt", content))
    assert read(tmp_path / "out") == {}


@pytest.mark.parametrize("is_disabled", [False, True])
@pytest.mark.parametrize("num_shards", [1, 2])
def test_documents_that_end_with_the_last_line(
    tmp_path, write, monkeypatch, num_shards, is_disabled
):
    """A blank line in a text ends a document. The progress bar can be disabled."""
    if is_disabled:  # TQDM_DISABLE=1
        monkeypatch.setattr(job.tqdm, "tqdm", functools.partial(job.tqdm.tqdm, disable=True))
    lines = '{"text": "One."}\n{"text": "Two.\\n\\nThree.\\n\\nFour."}\n'
    split(tmp_path, write("a.jsonl", lines), num_output_shards=num_shards)
    assert b"".join(content for _, content in sorted(read(tmp_path / "out").items())) == (
        b"One.\n\nTwo.\n\nThree.\n\nFour.\n\n"
    )
    assert len(read(tmp_path / "out")) == num_shards


def test_too_little_text_for_the_files(tmp_path, write):
    with rejects("num_output_shards", "the text has too few documents", value=3):
        split(tmp_path, write("a.txt", TEXT * 2), num_output_shards=3)
    assert read(tmp_path / "out") == {}


def test_an_error_keeps_the_files_of_the_run_before(tmp_path, write):
    split(tmp_path, write("a.jsonl", '{"text": "One."}\n'))
    with rejects("a.jsonl", "the line from byte 17", "not a JSON object"):
        split(tmp_path, write("a.jsonl", '{"text": "Two."}\n{"text"\n'))
    assert read(tmp_path / "out") == {"sentences.txt": b"One.\n\n"}
    split(tmp_path, write("a.jsonl", '{"text": "Two."}\n'))
    assert read(tmp_path / "out") == {"sentences.txt": b"Two.\n\n"}


def test_files_of_a_run_with_another_number_of_files(tmp_path, input_file):
    split(tmp_path, input_file, num_output_shards=2)
    with rejects("out", "contains sentences-0000", "-of-00002.txt", "another `num_"):
        split(tmp_path, input_file)


@pytest.mark.extra_large
def test_a_killed_run_leaves_no_output_and_can_be_repeated(tmp_path, write):
    write("text.txt", TEXT * 400_000)
    flags = {"input_file": "text.txt", "output_dir": "out", "num_output_shards": 4}
    folder = tmp_path / "out"
    status, errors = scripts.kill_when(
        scripts.command(SCRIPT, **flags),
        tmp_path,
        lambda: any(path.stat().st_size for path in folder.glob("*.partial")),
    )
    assert status == -9, errors
    assert not list(folder.glob("*.txt"))
    scripts.succeed(SCRIPT, tmp_path, **flags)
    assert b"".join(read(folder).values()) == TEXT.replace(". ", ".\n").encode() * 400_000


@pytest.mark.parametrize("language", ["EN", "e", "english", "en_US", "en-", "", "한"])
def test_invalid_languages(language):
    with rejects("language", "lowercase Wikipedia code", "such as en", value=language):
        SentenceSettings(language=language)


@pytest.mark.parametrize("language", ["en", "simple", "zh-yue", "be-x-old"])
def test_valid_languages(language):
    assert SentenceSettings(language=language).language == language


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            {"input_file": "a.txt,out/sentences.txt", "output_dir": "out"},
            Message("output_dir", "would overwrite `input_file`=out/sentences.txt", value="out"),
        ),
        (
            {"input_file": "a.txt", "output_dir": "folder"},
            Message(
                "output_dir",
                "is not a regular file",
                "choose another path",
                value="folder/sentences.txt",
            ),
        ),
        (
            {"input_file": "out/s*", "output_dir": "out"},
            Message("output_dir", "would overwrite `input_file`=", value="out"),
        ),
        (
            {"input_file": "out/*.txt", "output_dir": "out"},
            Message("output_dir", "would overwrite", value="out"),
        ),
    ],
)
def test_invalid_flags(tmp_path, monkeypatch, write, flags, message):
    monkeypatch.chdir(tmp_path)
    for path in (
        "a.txt",
        "texts/b.txt",
        "out/c.txt",
        "out/sentences.txt",
        "folder/sentences.txt/d.txt",
    ):
        write(path, TEXT)
    with raises_message(message):
        scripts.run_here(SCRIPT, **{"input_file": "a.txt,texts", "output_dir": "new", **flags})
