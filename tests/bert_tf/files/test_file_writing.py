"""Files that are whole or not there, local and on TensorFlow's file systems (ram://), and reading them."""

import io
import os
import pathlib
import tempfile
import zipfile

import pytest
import tensorflow as tf

from bert_tf import files
from bert_tf.errors import InputError
from bert_tf.files.remote import Remote
from tests import remote_folders


def content(path):
    with tf.io.gfile.GFile(path, "rb") as file:
        return file.read()


def put(path, value):
    if tf.io.gfile.exists(path):
        tf.io.gfile.remove(path)  # ram:// would append
    with tf.io.gfile.GFile(path, "wb") as file:
        file.write(value)


def write(path, value, mode="w", **options):
    with files.new_file(path, mode, **options) as file:
        file.write(value)


@pytest.mark.parametrize(("value", "mode", "options", "expected"), [
    ("é\n", "w", {}, "é\n".encode()),
    ("a\r\nb\n", "w", {"newline": ""}, b"a\r\nb\n"),
    ("a\n", "w", {"newline": "\r\n"}, b"a\r\n"),
    (b"\xff\r\n\0", "wb", {}, b"\xff\r\n\0"),
    (memoryview(b"abc"), "wb", {}, b"abc"),
    (b"12345678" * 400_000, "wb", {}, b"12345678" * 400_000),  # over the buffers
    ("", "w", {}, b""),
])
def test_a_file_appears_when_it_is_whole(folder, value, mode, options, expected):
    path = f"{folder}/results"
    with files.new_file(path, mode, **options) as file:
        assert file.write(value) == len(value)
        file.flush()
        assert tf.io.gfile.listdir(folder) == ([] if files.is_remote(folder) else ["results.partial"])
    assert tf.io.gfile.listdir(folder) == ["results"]
    assert content(path) == expected


def test_a_file_is_replaced(folder):
    put(f"{folder}/results", b"before, and longer")
    put(f"{folder}/results.partial", b"of a run that was killed")
    write(f"{folder}/results", "after")
    assert content(f"{folder}/results") == b"after"
    assert tf.io.gfile.listdir(folder) == ["results"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError("of the block"), OSError(5, "of a socket"),
                                   tf.errors.InvalidArgumentError(None, None, "of a computation")])
def test_an_error_leaves_what_was_there_and_stays_what_it_is(folder, error):
    put(f"{folder}/results", b"before")

    def write_half(path):
        with files.new_file(path, "wb") as file:
            file.write(b"half")
            raise error

    with pytest.raises(error if isinstance(error, type) else type(error)) as caught:
        write_half(f"{folder}/results")
    assert caught.value is error or isinstance(error, type)
    with pytest.raises(type(caught.value)):
        write_half(f"{folder}/new")
    assert tf.io.gfile.listdir(folder) == ["results"]
    assert content(f"{folder}/results") == b"before"


@pytest.mark.parametrize("as_path", [pathlib.Path, os.fsencode])
def test_local_paths_that_are_no_str(tmp_path, as_path):
    path = as_path(str(tmp_path / "results.json"))
    write(path, '{"a": 1}')
    assert files.read_json_object(path) == {"a": 1}
    write(path, "[]")
    with pytest.raises(InputError, match=r"^/.*results\.json: expected a JSON object, found list"):
        files.read_json_object(path)
    assert os.listdir(tmp_path) == ["results.json"]


def test_a_mode_that_does_not_make_a_file(tmp_path):
    with pytest.raises(ValueError, match="mode is 'a': a new file is opened with 'w' or 'wb'"):
        write(str(tmp_path / "results"), "x", "a")
    assert not os.listdir(tmp_path)


def test_a_full_disk_is_named(tmp_path):
    os.symlink("/dev/full", tmp_path / "results.partial")
    with pytest.raises(OSError, match=r"^/.*/results: cannot be written: No space left on device$"):
        write(str(tmp_path / "results"), "x")
    assert not os.listdir(tmp_path)


def test_a_full_disk_does_not_hide_an_earlier_error(tmp_path):
    os.symlink("/dev/full", tmp_path / "results.partial")

    def interrupted():
        with files.new_file(str(tmp_path / "results")) as file:
            file.write("x")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("in_the_way", ["results", "results.partial"])
def test_a_directory_in_the_way_is_named(tmp_path, in_the_way):
    (tmp_path / in_the_way).mkdir()
    with pytest.raises(OSError, match=r"^/.*/results: cannot be written: Is a directory$"):
        write(str(tmp_path / "results"), "x")
    assert os.listdir(tmp_path) == [in_the_way]


def test_a_folder_that_is_missing(tmp_path):
    with pytest.raises(OSError, match=r"^/.*/none/results: cannot be written: No such file or directory$"):
        write(str(tmp_path / "none" / "results"), "x")


def test_a_remote_path_that_cannot_be_written():
    with pytest.raises(OSError, match=r"^none://a/b: cannot be written: File system scheme 'none' not implemented"):
        write("none://a/b", "x")


def test_a_folder_appears_when_it_is_whole(tmp_path):
    leftover = tmp_path / "model.partial"
    leftover.mkdir()
    (leftover / "of a killed run").write_text("x")
    with files.new_folder(f"{tmp_path}/model/") as partial:
        assert partial == str(leftover)
        assert not os.path.exists(partial)
        os.mkdir(partial)
        pathlib.Path(partial, "weights").write_text("x")
        assert sorted(os.listdir(tmp_path)) == [".model.lock", "model.partial"]
        with pytest.raises(InputError, match=f"^{tmp_path}/model: process {os.getpid()} is writing there"), \
                files.new_folder(f"{tmp_path}/model"):
            pass
        assert os.listdir(partial) == ["weights"]
    assert os.listdir(tmp_path) == ["model"]
    assert os.listdir(tmp_path / "model") == ["weights"]


def test_after_an_error_there_is_no_folder(tmp_path):
    def make(stop):
        with files.new_folder(tmp_path / "model") as partial:
            os.mkdir(partial)
            if stop:
                raise KeyboardInterrupt
            # Another process was faster.
            (tmp_path / "model").mkdir()
            (tmp_path / "model" / "weights").write_text("theirs")

    with pytest.raises(KeyboardInterrupt):
        make(stop=True)
    assert not os.listdir(tmp_path)
    with pytest.raises(OSError, match=r"^/.*/model: cannot be written: Directory not empty$"):
        make(stop=False)
    assert os.listdir(tmp_path) == ["model"]
    assert (tmp_path / "model" / "weights").read_text() == "theirs"


def test_a_folder_that_exists_is_refused_before_any_work(tmp_path):
    (tmp_path / "model").mkdir()
    with (pytest.raises(FileExistsError, match=r"^/.*/model: exists$"),
          files.new_folder(str(tmp_path / "model"))):
        pytest.fail("the block must not run")
    assert os.listdir(tmp_path) == ["model"]


def test_many_files_appear_together(tmp_path):
    folder = tmp_path / "made" / "out"
    for round_ in ("first", "second"):
        with files.new_files(str(folder)) as unfinished:
            for name in ("a", "b"):
                pathlib.Path(unfinished, name).write_text(round_)
            assert {path.name: path.read_text() for path in folder.iterdir() if path.is_file()} == (
                {} if round_ == "first" else {"a": "first", "b": "first", "kept": "mine"})
        (folder / "kept").write_text("mine")
        assert {path.name: path.read_text() for path in folder.iterdir()} == {
            "a": round_, "b": round_, "kept": "mine"}


def fill(folder, names, error=None):
    with files.new_files(folder) as unfinished:
        for name in names:
            pathlib.Path(unfinished, name).write_text("new")
        if error is not None:
            raise error


@pytest.mark.parametrize("was_there", [True, False])
def test_after_an_error_no_file_is_changed(tmp_path, was_there):
    before = {}
    if was_there:
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "a").write_text("old")
        before = {"out/a": "old"}
    with pytest.raises(KeyboardInterrupt):
        fill(str(tmp_path / "out"), ["a", "b"], KeyboardInterrupt)
    assert {str(path.relative_to(tmp_path)): path.read_text() for path in tmp_path.rglob("*")
            if path.is_file()} == before
    assert os.listdir(tmp_path) == (["out"] if was_there else [])


def test_a_directory_among_many_files_is_named_and_left(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "theirs").write_text("x")
    (tmp_path / "a").write_text("old")
    with pytest.raises(OSError, match=r"^/.*/b: cannot be written: Is a directory$"):
        fill(tmp_path, ["a", "b"])
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]
    assert (tmp_path / "a").read_text() == "old"
    assert (tmp_path / "b" / "theirs").read_text() == "x"


def test_a_move_that_fails_half_way_is_undone(tmp_path, monkeypatch):
    for name in ("a", "b"):
        (tmp_path / name).write_text(f"old {name}")
    replace = os.replace

    def fails_at_the_new_b(source, target):
        if target == str(tmp_path / "b") and pathlib.Path(source).read_text() == "new":
            raise OSError(28, "No space left on device")
        replace(source, target)

    monkeypatch.setattr(os, "replace", fails_at_the_new_b)
    with pytest.raises(OSError, match=rf"^{tmp_path}: cannot be written: No space left on device$"):
        fill(str(tmp_path), ["a", "b", "c"])
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a": "old a", "b": "old b"}


def test_a_file_in_place_of_the_folder(tmp_path):
    (tmp_path / "out").write_text("x")
    with pytest.raises(OSError, match=r"^/.*/out: cannot be written: File exists$"):
        fill(str(tmp_path / "out"), ["a"])
    assert (tmp_path / "out").read_text() == "x"


def test_an_object_appears_in_one_upload(store):
    for value in ("before", "after, and longer"):
        with files.new_file(f"{store}/results") as file:
            file.write(value)
            file.flush()
            assert tf.io.gfile.listdir(store) == ([] if value == "before" else ["results"])
        assert content(f"{store}/results") == value.encode()
    assert tf.io.gfile.listdir(store) == ["results"]


def test_an_object_that_is_written_out_of_order(store):
    with files.new_file(f"{store}/archive.npz", "wb") as file, zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a", b"x" * 5_000)
    with zipfile.ZipFile(io.BytesIO(content(f"{store}/archive.npz"))) as archive:
        assert archive.read("a") == b"x" * 5_000


def test_after_an_error_there_is_no_new_object(store):
    def write_half(path):
        with files.new_file(path) as file:
            file.write("half")
            raise KeyboardInterrupt

    put(f"{store}/results", b"before")
    for name in ("results", "new"):
        with pytest.raises(KeyboardInterrupt):
            write_half(f"{store}/{name}")
    assert tf.io.gfile.listdir(store) == ["results"]
    assert content(f"{store}/results") == b"before"


def test_a_full_disk_under_an_upload_is_named(store, monkeypatch):
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda: open("/dev/full", "wb"))  # noqa: SIM115
    with pytest.raises(OSError, match=rf"^{store}/results: its temporary file in .*: cannot be written: No space left"):
        write(f"{store}/results", "x")
    assert tf.io.gfile.listdir(store) == []


def test_an_upload_that_fails_is_named(store, monkeypatch):
    def fail(*_, **__):
        raise tf.errors.PermissionDeniedError(None, None, "HTTP response code 403 with body '{}'")

    monkeypatch.setattr(tf.io.gfile, "copy", fail)
    with pytest.raises(PermissionError, match=rf"^{store}/results: cannot be written: no permission \(HTTP 403\)$"):
        write(f"{store}/results", "x")


def make_model(path, error=None):
    with files.new_folder(path) as unfinished:
        for name in ("saved_model.pb", "variables/index", "fingerprint.pb"):
            file = pathlib.Path(unfinished, name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(name)
        if error is not None:
            raise error


def uploads(monkeypatch):
    """The names of what is uploaded from now on, in order."""
    names, upload = [], Remote.upload
    monkeypatch.setattr(Remote, "upload", lambda place, local: names.append(place.path) or upload(place, local))
    return names


@pytest.mark.parametrize("kind", ["folder", "store"])
def test_a_remote_folder_is_uploaded_and_its_last_file_says_that_it_is_whole(request, monkeypatch, kind):
    place = request.getfixturevalue("store") if kind == "store" else remote_folders.new_folder()
    names, path = uploads(monkeypatch), f"{place}/model"
    make_model(path + "/")
    assert names == [f"{path}/{name}" for name in ("variables/index", "fingerprint.pb", "saved_model.pb")]
    assert all(map(files.is_file, names))
    assert content(f"{path}/variables/index") == b"variables/index"
    with pytest.raises(FileExistsError, match=rf"^{path}: exists$"):
        make_model(path)
    with pytest.raises(KeyboardInterrupt):
        make_model(f"{place}/other", KeyboardInterrupt)
    assert not files.exists(f"{place}/other")


def test_an_upload_of_several_that_fails_leaves_none(store, monkeypatch):
    upload = Remote.upload

    def fails_at_the_last(place, local):
        if place.path.endswith("saved_model.pb"):
            raise OSError(f"{place.path}: cannot be written: no permission")
        upload(place, local)

    monkeypatch.setattr(Remote, "upload", fails_at_the_last)
    with pytest.raises(OSError, match=r"saved_model\.pb: cannot be written: no permission"):
        make_model(f"{store}/model")
    assert files.files_below(store) == []


def test_many_files_are_uploaded_when_the_old_ones_are_gone(store, monkeypatch):
    fill(store, ["model.index", "model.data"])
    put(f"{store}/kept", b"mine")
    seen, upload = [], Remote.upload
    monkeypatch.setattr(Remote, "upload",
                        lambda place, local: seen.append(files.names_in(store)) or upload(place, local))
    fill(store, ["model.index", "model.data"])
    assert seen == [["kept"], ["kept", "model.data"]]
    assert files.names_in(store) == ["kept", "model.data", "model.index"]


@pytest.mark.parametrize(("names", "empty"), [
    ([], True), (["run.json.partial", ".unfinished-x1"], True), (["run.json.partial", "run.json"], False),
    (["a"], False),
    (["partial"], False)])
def test_what_a_killed_process_was_writing_counts_as_nothing(tmp_path, names, empty):
    for name in names:
        (tmp_path / name).touch()
    assert files.is_empty(tmp_path) is empty
    assert files.is_empty(tmp_path / "missing")


def test_files_that_a_killed_process_had_begun_are_removed(tmp_path):
    (tmp_path / ".unfinished-dead").mkdir()
    (tmp_path / ".unfinished-dead" / "a").write_text("half")
    with files.new_files(tmp_path) as first, files.new_files(tmp_path) as second:  # the first lives still
        (pathlib.Path(first) / "a").write_text("whole")
        (pathlib.Path(second) / "b").write_text("whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]
