"""The script: its settings, remote files, and a run that is killed."""

import gzip
import random
import signal

import pytest

from bert_tf import files
from bert_tf.errors import InputError
from data_prep.sentences import SentenceSettings, job
from data_prep.sharding import ShardSettings
from tests import remote_folders, scripts
from tests.remote_folders import put

SCRIPT = "data_prep.split_sentences"
TEXT = "It begins. It goes on.\nIt ends.\n\n"


@pytest.mark.parametrize("language", ["EN", "e", "english", "en_US", "en-", "", "한"])
def test_invalid_languages(language):
    with pytest.raises(InputError, match=f"^`language`={language}: must be a lowercase code of Wikipedia, such as en"):
        SentenceSettings(language=language)


@pytest.mark.parametrize("language", ["en", "simple", "zh-yue", "be-x-old"])
def test_valid_languages(language):
    assert SentenceSettings(language=language).language == language


@pytest.mark.parametrize(("flags", "message"), [
    ({"input_file": None}, "`input_file` is required"),
    ({"output_dir": None}, "`output_dir` is required"),
    ({"input_file": "none.txt"}, "`input_file`=none.txt: does not exist"),
    ({"output_dir": "a.txt"}, "`output_dir`=a.txt: must be a directory, but is a file"),
    ({"output_dir": "texts/new"}, "`output_dir`=texts/new: would be read by the next run as `input_file`"),
    ({"input_file": "a.txt,out/sentences.txt", "output_dir": "out"},
     "`output_dir`=out: would overwrite `input_file`=out/sentences.txt"),
    ({"input_file": "a.txt", "output_dir": "folder"},
     "`output_dir`=folder/sentences.txt: is not a regular file; choose another path"),
    ({"input_file": "out/s*", "output_dir": "out"}, "`output_dir`=out: would overwrite `input_file`="),
    ({"input_file": "out/*.txt", "output_dir": "out"}, "`output_dir`=out: would "),
    ({"beam_options": "--region=x"}, "`beam_options`=--region=x: cannot be combined with `runner`=local"),
    ({"max_shard_mb": float("inf")}, "`max_shard_mb`=inf: must be finite"),
])
def test_invalid_flags(tmp_path, monkeypatch, write, flags, message):
    monkeypatch.chdir(tmp_path)
    for path in ("a.txt", "texts/b.txt", "out/c.txt", "out/sentences.txt", "folder/sentences.txt/d.txt"):
        write(path, TEXT)
    with pytest.raises(InputError, match=message):
        scripts.run_here(SCRIPT, **{"input_file": "a.txt,texts", "output_dir": "new", **flags})


def test_remote_files_match_a_local_run(tmp_path):
    folder = remote_folders.new_folder()
    for place in (folder, str(tmp_path)):
        put(f"{place}/text/a.txt", TEXT.encode() * 20)
        put(f"{place}/text/b.txt.gz", gzip.compress(TEXT.encode() * 20))
        job.run(SentenceSettings(f"{place}/text", f"{place}/sentences", shards=ShardSettings(num_output_shards=3)))
    files.at(f"{folder}/sentences/sentences-00001-of-00003.txt").remove()
    summary = job.run(SentenceSettings(f"{folder}/text", f"{folder}/sentences",
                                       shards=ShardSettings(num_output_shards=3)))
    assert summary.num_made == 1
    for number in range(3):
        name = f"sentences/sentences-{number:05}-of-00003.txt"
        assert files.read_bytes(f"{folder}/{name}") == (tmp_path / name).read_bytes()


def test_beam_creates_the_same_bytes(tmp_path, write):
    write("text/a.txt", TEXT * 20)
    for runner in ("local", "direct"):
        scripts.succeed(SCRIPT, tmp_path, input_file="text", output_dir=runner, runner=runner, num_output_shards=3,
                        num_workers=2)
    contents = [{path.name: path.read_bytes() for path in (tmp_path / runner).iterdir()}
                for runner in ("local", "direct")]
    assert contents[0] == contents[1]
    assert len(contents[0]) == 4


def test_a_run_that_is_killed_resumes_and_creates_the_same_bytes(tmp_path, write):
    generator = random.Random(3)
    words = [f"{word} " for word in ("the", "line", "stops", "here", "and", "there")]
    write("text.txt", "".join("".join(generator.choices(words, k=12)) + "is it. " + "\n" * generator.choice([0, 1, 2])
                              for _ in range(60_000)))
    flags = {"input_file": "text.txt", "num_output_shards": 12, "num_workers": 2}
    scripts.succeed(SCRIPT, tmp_path, output_dir="complete", **flags)
    folder = tmp_path / "killed"
    for how, status in ((signal.SIGKILL, -signal.SIGKILL), (signal.SIGTERM, 143)):
        num_finished = len(list(folder.glob("*.txt")))
        found, errors = scripts.kill_when(
            scripts.command(SCRIPT, output_dir="killed", **flags), tmp_path,
            lambda count=num_finished: len(list(folder.glob("*.txt"))) > count, how)
        assert found == status, errors
    output = scripts.succeed(SCRIPT, tmp_path, output_dir="killed", **flags)
    assert "of 12 shards are finished, " in output
    names = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    assert names == sorted(path.name for path in (tmp_path / "complete").iterdir())
    assert len(names) == 13
    for name in names:
        assert (folder / name).read_bytes() == (tmp_path / "complete" / name).read_bytes()
