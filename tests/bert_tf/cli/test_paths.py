import os
import uuid

import pytest
import tensorflow as tf

from bert_tf.cli import paths
from bert_tf.errors import InputError


def test_globs_give_each_file_once_sorted_within_a_pattern(tmp_path):
    for name in ("b.txt", "a.txt", "c.gz"):
        (tmp_path / name).write_text("x")
    found = paths.expand_globs("input_file", f"{tmp_path}/c.gz,{tmp_path}/*.txt,{tmp_path}/a.txt")
    assert found == [f"{tmp_path}/{name}" for name in ("c.gz", "a.txt", "b.txt")]


def test_a_folder_stands_for_its_files(tmp_path):
    for name in ("b.txt", "a/z.txt", "a/b/c.gz", ".hidden", "a/.hidden", ".git/x", "d.txt.partial", "empty/.x"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")

    found = paths.expand_globs("input_file", f"{tmp_path},{tmp_path}/b.txt", folders=True)

    assert found == [f"{tmp_path}/{name}" for name in ("a/b/c.gz", "a/z.txt", "b.txt")]
    with pytest.raises(ValueError, match=r"`input_file`=.*/empty: a directory without files"):
        paths.expand_globs("input_file", f"{tmp_path}/empty", folders=True)


def test_wildcards_leave_out_what_is_no_data(tmp_path):
    for name in ("r.tfrecord", "r.tfrecord.manifest.json", "s.tfrecord.partial"):
        (tmp_path / name).write_text("x")
    assert paths.expand_globs("input_file", f"{tmp_path}/*") == [f"{tmp_path}/r.tfrecord"]
    named = f"{tmp_path}/r.tfrecord.manifest.json"
    assert paths.expand_globs("input_file", named) == [named]


@pytest.mark.parametrize(("patterns", "message"), [
    ("{}/*.txt", r"`input_file`=.*/\*\.txt: no such file"),
    ("{}/a.gz,{}", "`input_file`=.*: is a directory, files are needed"),
    (",", "`input_file` is required"),
    (None, "`input_file` is required"),
])
def test_globs_that_give_no_files(tmp_path, patterns, message):
    (tmp_path / "a.gz").write_text("x")
    with pytest.raises(ValueError, match=message):
        paths.expand_globs("input_file", patterns and patterns.replace("{}", str(tmp_path)))


def test_files(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_text("x")
    paths.check_file("vocab_file", path)
    for wrong, message in ((None, "`vocab_file` is required"), (tmp_path, "is a directory, a file is needed"),
                           (tmp_path / "none", "none: no such file")):
        with pytest.raises(ValueError, match=message):
            paths.check_file("vocab_file", wrong)


def test_what_is_there_and_no_regular_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match=r"`vocab_file`=/.*/pipe: is no regular file"):
        paths.check_file("vocab_file", str(tmp_path / "pipe"))


def test_what_a_new_file_must_not_take_the_place_of(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    (tmp_path / "text").write_text("x")
    (tmp_path / "other").symlink_to(tmp_path / "text")
    for name, message in (("pipe", "is no regular file, and would be replaced by one"),
                          ("link", f"is a link to {tmp_path}/nowhere, which is not there")):
        with pytest.raises(InputError, match=f"`output_file`={tmp_path}/{name}: {message}"):
            paths.check_output_file("output_file", f"{tmp_path}/{name}")
    for given in ({"vocab_file": f"{tmp_path}/text"}, {"vocab_file": None, "input_file": ["a", f"{tmp_path}/text"]}):
        name = list(given)[-1]
        with pytest.raises(InputError, match=f"`output_file`={tmp_path}/other: is `{name}`, which would be lost"):
            paths.check_not_given("output_file", f"{tmp_path}/other", given)
    paths.check_output_file("output_file", f"{tmp_path}/text")
    paths.check_not_given("output_file", f"{tmp_path}/new", {"vocab_file": f"{tmp_path}/text", "input_file": None})


def test_a_file_whose_name_has_characters_of_globs(tmp_path):
    for name in ("a[1].txt", "a1.txt"):
        (tmp_path / name).write_text("x")
    assert paths.expand_globs("input_file", f"{tmp_path}/a[1].txt") == [f"{tmp_path}/a[1].txt"]
    assert paths.expand_globs("input_file", f"{tmp_path}/a[0-9].txt") == [f"{tmp_path}/a1.txt"]


def test_a_folder_that_cannot_be_read_is_not_passed_over(tmp_path, monkeypatch):
    def scandir(path):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(PermissionError, match="Permission denied"):
        paths.files_below(str(tmp_path))


def test_remote_globs():
    folder = f"ram://{uuid.uuid4().hex}"
    for name in ("b.txt", "a.txt", "a.txt.partial"):
        with tf.io.gfile.GFile(f"{folder}/{name}", "w") as file:
            file.write("x")
    assert paths.expand_globs("input_file", f"{folder}/*.txt*") == [f"{folder}/a.txt", f"{folder}/b.txt"]
    with pytest.raises(InputError, match=rf"^`input_file`={folder}/\*\.gz: no such file$"):
        paths.expand_globs("input_file", f"{folder}/*.gz")
    with pytest.raises(InputError, match=r"^`input_file`=none://a/\*: cannot be read: File system scheme 'none' not"):
        paths.expand_globs("input_file", "none://a/*")


def test_remote_files_and_folders():
    folder = f"ram://{uuid.uuid4().hex}"
    tf.io.gfile.makedirs(f"{folder}/inside")
    with tf.io.gfile.GFile(f"{folder}/vocab.txt", "w") as file:
        file.write("x")
    paths.check_file("vocab_file", f"{folder}/vocab.txt")
    paths.check_folder("data_dir", folder)
    paths.check_output_dir("output_dir", f"{folder}/a/b")
    paths.check_output_dir("output_dir", folder)
    paths.check_output_file("output_file", f"{folder}/vocab.txt")
    paths.check_output_file("output_file", f"{folder}/new")
    paths.check_output_file("output_file", f"{folder}/a[1]")  # read by its name, whatever a pattern makes of that
    for check, path, message in (
        (paths.check_file, f"{folder}/none", "none: no such file$"),
        (paths.check_file, f"{folder}/inside", "inside: is a directory, a file is needed$"),
        (paths.check_folder, f"{folder}/none", "none: no such folder$"),
        (paths.check_folder, f"{folder}/vocab.txt", "vocab.txt: no such folder$"),
        (paths.check_output_dir, f"{folder}/vocab.txt", "vocab.txt: is a file, a folder is needed$"),
        (paths.check_output_file, f"{folder}/../a", "each part between slashes must be a name"),
        (paths.check_output_file, f"{folder}/inside", "inside: is a directory, a file is needed$"),
        (paths.check_output_file, f"{folder}/none/new", f"new: there is no folder {folder}/none: a file in a folder"),
    ):
        with pytest.raises(InputError, match=rf"^`argument`={folder}.*{message}"):
            check("argument", path)


@pytest.mark.parametrize("check", [paths.check_file, paths.check_folder, paths.check_output_dir,
                                   paths.check_output_file, paths.expand_globs])
def test_remote_places_that_cannot_be_looked_at(check, monkeypatch):
    def stat(path):
        raise tf.errors.PermissionDeniedError(None, None, "HTTP response code 401 with body ''")

    monkeypatch.setattr(tf.io.gfile, "stat", stat)
    with pytest.raises(InputError, match=r"^`argument`=gs://b/x: cannot be read: no credentials \(HTTP 401\): gcloud"):
        check("argument", "gs://b/x")
    with pytest.raises(InputError, match=r"^`argument`='gs://b/caf\\udce9': the name is not UTF-8; rename it$"):
        check("argument", "gs://b/caf\udce9")


def test_a_remote_folder_stands_for_its_files():
    folder = f"ram://{uuid.uuid4().hex}"
    for name in ("b.txt", "a[1]", "c/d.txt", "c/.hidden", "c/d.txt.partial"):
        tf.io.gfile.makedirs(os.path.dirname(f"{folder}/{name}"))
        with tf.io.gfile.GFile(f"{folder}/{name}", "w") as file:
            file.write("x")
    assert paths.expand_globs("input_file", folder, folders=True) == [
        f"{folder}/{name}" for name in ("a[1]", "b.txt", "c/d.txt")]
    assert paths.expand_globs("input_file", f"{folder}/a[1]") == [f"{folder}/a[1]"]
    with pytest.raises(InputError, match=rf"^`input_file`={folder}/c: is a directory, files are needed"):
        paths.expand_globs("input_file", f"{folder}/*")


def test_names_that_are_not_utf8(tmp_path):
    name = os.path.join(os.fsencode(tmp_path), b"caf\xe9.txt")
    with open(name, "w") as file:
        file.write("x")
    with pytest.raises(InputError, match=r"`vocab_file`='.*caf\\udce9\.txt': the name is not UTF-8; rename it"):
        paths.check_file("vocab_file", os.fsdecode(name))
    with pytest.raises(InputError, match=r"`input_file`=.*: the name is not UTF-8"):
        paths.expand_globs("input_file", str(tmp_path / "*.txt"))


def test_output_folders(tmp_path):
    paths.check_output_dir("output_dir", str(tmp_path / "a" / "b"))
    paths.check_output_dir("output_dir", str(tmp_path))
    assert not (tmp_path / "a").exists()
    (tmp_path / "file").write_text("x")
    for wrong, message in ((None, "^`output_dir` is required"), ("", "^`output_dir` is required"),
                           ("gs://bucket//run", "^`output_dir`=gs://bucket//run: each part between slashes must be"),
                           ("gs:/bucket/run", "^`output_dir`=gs:/bucket/run: in a bucket it is gs://bucket/run"),
                           (str(tmp_path / "file"), "^`output_dir`=/.*/file: is a file, a folder is needed")):
        with pytest.raises(InputError, match=message):
            paths.check_output_dir("output_dir", wrong)


@pytest.mark.parametrize(("output", "patterns", "is_found"), [
    ("texts/new", "texts", True), ("texts/a/b/new", "texts", True), ("new", "texts", False),
    ("textsnew", "texts", False), ("texts/new.txt", "other/*,texts/*.txt", True),
    ("texts/new.bin", "texts/*.txt", False), ("runs/a/new.bin", "runs/*", True),
    ("runs/a/b/new.txt", "runs/**/*.txt", True), ("new.txt", "runs/**/*.txt", False), ("texts/new", None, False),
    ("gs://b/texts/new", "texts", False)])
def test_outputs_that_the_next_run_would_read(tmp_path, monkeypatch, output, patterns, is_found):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts").mkdir()
    if not is_found:
        paths.check_not_found("output_file", output, {"eval_input_file": None, "input_file": patterns})
        return
    with pytest.raises(InputError, match=f"^`output_file`={output}: lies where `input_file`=.* looks"):
        paths.check_not_found("output_file", output, {"eval_input_file": None, "input_file": patterns})


def test_a_folder_whose_files_the_next_run_would_read(tmp_path):
    paths.check_not_found("output_dir", f"{tmp_path}/run", {"input_file": f"{tmp_path}/*.tfrecord"}, is_folder=True)
    for pattern in (f"{tmp_path}/run/*", str(tmp_path), f"{tmp_path}/*"):
        with pytest.raises(InputError, match=r"^`output_dir`=.*/run: lies where"):
            paths.check_not_found("output_dir", f"{tmp_path}/run", {"input_file": pattern}, is_folder=True)


def test_files_of_what_is_given_by_its_folder(tmp_path):
    """An output may lie beside them, and take the place of no part of a model or a data set."""
    for name in ("m/vocab.txt", "m/bert_model.ckpt.index", "m/answers.jsonl", "d/dev.tsv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    given = {"model": f"{tmp_path}/m", "data_dir": f"{tmp_path}/d"}
    paths.check_not_given("output_file", f"{tmp_path}/m/answers.jsonl", given)
    for output, name, each in (("m/vocab.txt", "model", "m"), ("m/../d/dev.tsv", "data_dir", "d"),
                               ("m/config.json", "model", "m")):
        with pytest.raises(InputError, match=f"{output}: is a file of `{name}`={tmp_path}/{each}, which would be lost"):
            paths.check_not_given("output_file", f"{tmp_path}/{output}", given)
    prefix = f"{tmp_path}/m/bert_model.ckpt"
    with pytest.raises(InputError, match="is a file of `init_checkpoint`"):
        paths.check_not_given("output_file", f"{tmp_path}/m/vocab.txt", {"init_checkpoint": prefix})
    with pytest.raises(InputError, match=r"^`output_dir`=.*/m/: is the folder of `teacher`; give another$"):
        paths.check_apart("output_dir", f"{tmp_path}/m/", {"student": None, "teacher": prefix})
    paths.check_apart("output_dir", f"{tmp_path}/new", {"teacher": f"{tmp_path}/m"})
    paths.check_not_replaced("output_dir", f"{tmp_path}/d", r".*\.txt", {"dev_file": f"{tmp_path}/d/dev.tsv"})
    with pytest.raises(InputError, match=r"^`output_dir`=.*: holds `dev_file`=.*/d/dev.tsv, which would be replaced"):
        paths.check_not_replaced("output_dir", f"{tmp_path}/d", r".*\.tsv", {"dev_file": f"{tmp_path}/d/dev.tsv"})
