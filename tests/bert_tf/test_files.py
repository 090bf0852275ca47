"""Files that are whole or not there, local and on TensorFlow's file systems (ram://), and reading them."""

import os
import pathlib
import uuid

import pytest
import tensorflow as tf

from bert_tf import files
from bert_tf.errors import InputError


@pytest.fixture(params=["local", "remote"])
def folder(request, tmp_path):
    """A new folder of Python's file system, or of one that only TensorFlow knows: its path as str."""
    if request.param == "local":
        return str(tmp_path)
    path = f"ram://{uuid.uuid4().hex}"
    tf.io.gfile.makedirs(path)
    return path


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


def test_a_path_is_remote_by_its_scheme():
    assert [files.is_remote(path) for path in ("gs://a/b", b"ram://a", "a/b", pathlib.Path("a"), b"a:/b")] == [
        True, True, False, False, False]


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
        assert tf.io.gfile.listdir(folder) == ["results.partial"]
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
        assert os.listdir(tmp_path) == ["model.partial"]
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


@pytest.mark.parametrize("context", [files.new_folder, files.new_files])
def test_remote_folders_are_refused(context, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="gs://bucket/model: must be a local folder"), context("gs://bucket/model"):
        pytest.fail("the block must not run")
    assert not os.listdir(tmp_path)


def test_bytes_are_read(folder):
    put(f"{folder}/file", b"\xff\r\n\0")
    assert files.read_bytes(f"{folder}/file") == b"\xff\r\n\0"


def test_a_file_that_is_missing(folder):
    for read in (files.read_bytes, files.read_text, files.read_json):
        with pytest.raises(OSError, match="none"):
            read(f"{folder}/none")
    if files.is_remote(folder):
        with pytest.raises(OSError, match=rf"^{folder}/none: cannot be read: NotFoundError"):
            files.read_bytes(f"{folder}/none")


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_text_is_utf_8_with_or_without_a_mark(folder, mark):
    put(f"{folder}/file", mark + "é\r\n".encode())
    assert files.read_text(f"{folder}/file") == "é\r\n"
    put(f"{folder}/file", mark + b'{"a": "\xc3\xa9"}')
    assert files.read_json_object(f"{folder}/file") == {"a": "é"}
    put(f"{folder}/file", mark + "aé".encode("latin-1"))
    place = len(mark) + 2
    with pytest.raises(InputError, match=rf"/file: byte {place} is 0xe9, which is not UTF-8: save the file as UTF-8"):
        files.read_text(f"{folder}/file")


@pytest.mark.parametrize(("text", "message"), [
    ("", "is not JSON: Expecting value: line 1 column 1"),
    ("{'a': 1}", "is not JSON: Expecting property name enclosed in double quotes"),
    ('{"a": 1} x', "is not JSON: Extra data"),
    ("[" * 100_000, "its JSON is nested too deeply"),
    ('{"a": ' * 100_000, "its JSON is nested too deeply"),
    ("9" * 5_000, "is not JSON: Exceeds the limit"),
    ("[1]", "expected a JSON object, found list"),
    ("null", "expected a JSON object, found NoneType"),
])
def test_a_file_that_is_no_json_object(tmp_path, text, message):
    path = tmp_path / "file.json"
    path.write_text(text)
    with pytest.raises(InputError, match=rf"^/.*/file\.json: {message}"):
        files.read_json_object(path)


def test_json_values_of_any_kind(tmp_path):
    (tmp_path / "file.json").write_text("[1, null]")
    assert files.read_json(str(tmp_path / "file.json")) == [1, None]


def test_what_is_there(folder):
    path = os.path.join(folder, "file")
    assert (files.exists(path), files.is_dir(path)) == (False, False)
    put(path, b"1")
    assert (files.exists(path), files.is_dir(path)) == (True, False)
    assert (files.exists(folder), files.is_dir(folder)) == (True, True)


def test_a_file_system_that_cannot_be_asked():
    with pytest.raises(OSError, match=r"^nowhere://file: cannot be read: File system scheme 'nowhere' not implemented"):
        files.exists("nowhere://file")
