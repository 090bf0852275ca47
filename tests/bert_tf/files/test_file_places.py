"""What is at a path and what a folder holds, local, on a remote file system, and in what is taken for a store."""

import os
import pathlib

import pytest
import tensorflow as tf

from bert_tf import files


def put(path, value="x"):
    files.make_dirs(os.path.dirname(path))
    with tf.io.gfile.GFile(path, "w") as file:
        file.write(value)


def test_a_path_is_remote_by_its_scheme():
    paths = ("gs://a/b", b"ram://a", "hdfs://a", "a/b", pathlib.Path("a"), b"a:/b")
    assert [files.is_remote(path) for path in paths] == [True, True, True, False, False, False]
    assert [files.is_object_store(path) for path in paths] == [True, False, False, False, False, False]


def test_what_is_there(folder):
    put(f"{folder}/a/file", "12345")
    assert [files.exists(f"{folder}/{name}") for name in ("a", "a/file", "none", "a/")] == [True, True, False, True]
    assert [files.is_dir(f"{folder}/{name}") for name in ("a", "a/file", "none", "a/")] == [True, False, False, True]
    assert [files.is_file(f"{folder}/{name}") for name in ("a", "a/file", "none")] == [False, True, False]
    assert not files.exists(f"{folder}/a/fi")  # ram:// takes it for a folder
    assert files.size(f"{folder}/a/file") == 5
    with pytest.raises(FileNotFoundError, match="none"):
        files.size(f"{folder}/none")
    assert files.absolute(f"{folder}/a/") == files.absolute(f"{folder}/a")


def test_when_a_file_was_written(folder, tmp_path):
    put(f"{folder}/file")
    assert files.modified_ns(f"{folder}/file") == tf.io.gfile.stat(f"{folder}/file").mtime_nsec
    os.utime(tmp_path, ns=(5, 1_234_567_890_987_654_321))
    assert files.modified_ns(tmp_path) == tf.io.gfile.stat(str(tmp_path)).mtime_nsec == 1_234_567_890_000_000_000
    with pytest.raises(FileNotFoundError, match="none"):
        files.modified_ns(f"{folder}/none")


def test_what_a_folder_holds_and_its_removal(folder):
    for name in ("b", "a/y", "a/z/x", ".hidden", "a/.git/x"):
        put(f"{folder}/{name}")
    assert files.names_in(folder) == [".hidden", "a", "b"]
    below = [f"{folder}/{name}" for name in ("a/y", "a/z/x", "b")]
    assert files.files_below(folder + ("/" if files.is_remote(folder) else "")) == below
    assert files.folders_among([f"{folder}/a", f"{folder}/b"]) == {f"{folder}/a"}
    assert files.matching(f"{folder}/a/[yz]") == [f"{folder}/a/{name}" for name in "yz"]
    files.remove(f"{folder}/b")
    files.remove_tree(f"{folder}/a")
    assert files.names_in(folder) == [".hidden"]
    with pytest.raises(OSError, match="none"):
        files.names_in(f"{folder}/none")
    with pytest.raises(OSError, match="none"):
        files.remove(f"{folder}/none")


def test_a_store_is_asked_once_for_each_folder(store, monkeypatch):
    names = {store: ["a/", "b", "c", ".d", ""], f"{store}/a": ["x", "y"]}  # as gs:// lists them
    asked = []
    monkeypatch.setattr(tf.io.gfile, "listdir", lambda folder: asked.append(folder) or names[folder])
    monkeypatch.setattr(tf.io.gfile, "stat", lambda path: pytest.fail("one request for each file"))
    assert files.names_in(store) == [".d", "a", "b", "c"]
    assert files.files_below(store) == [f"{store}/{name}" for name in ("a/x", "a/y", "b", "c")]
    asked.clear()
    paths = [f"{store}/{name}" for name in "abc"]
    assert files.folders_among(paths) == {f"{store}/a"}
    assert asked == [store]


def test_a_store_needs_no_folders(store):
    files.make_dirs(f"{store}/a/b")
    assert not tf.io.gfile.exists(f"{store}/a")


@pytest.mark.parametrize(("path", "message"), [
    ("gs://bucket//run", "^gs://bucket//run: each part between slashes must be a name"),
    ("gs://bucket/a/../run", "each part between slashes must be a name"),
    ("gs:///run", "each part between slashes must be a name"),
    ("hdfs:////run", "each part between slashes must be a name"),
    ("gs://bucket/run[1]", r"^gs://bucket/run\[1\]: has \[ in its name, which TensorFlow takes for a pattern"),
    ("gs://bucket/what?", r"has \? in its name"),
])
def test_names_that_outputs_cannot_have(path, message):
    with pytest.raises(OSError, match=message):
        files.check_output_name(path)


def test_names_that_outputs_can_have():
    for path in ("gs://bucket/a b#c%20d/é/", "ram://x", "hdfs:///user/me/out", "file:///x", "here/../[1]"):
        files.check_output_name(path)
