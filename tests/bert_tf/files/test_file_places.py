"""Queries about paths: local, on a remote file system, and in an object store."""

import os
import pathlib

import pytest
import tensorflow as tf

from bert_tf import files
from tests.remote_folders import put


def test_the_scheme_shows_which_paths_are_remote():
    paths = ("gs://a/b", b"ram://a", "hdfs://a", "a/b", pathlib.Path("a"), b"a:/b")
    assert [files.is_remote(path) for path in paths] == [True, True, True, False, False, False]
    assert [files.is_object_store(path) for path in paths] == [True, False, False, False, False, False]


def test_kind_and_size_of_a_path(folder):
    put(f"{folder}/a/file", "12345")
    names = ("a", "a/file", "none", "a/", "a/fi")  # ram:// treats a/fi as a directory
    assert [files.exists(f"{folder}/{name}") for name in names] == [True, True, False, True, False]
    assert [files.is_dir(f"{folder}/{name}") for name in names] == [True, False, False, True, False]
    assert [files.is_file(f"{folder}/{name}") for name in names] == [False, True, False, False, False]
    assert files.size(f"{folder}/a/file") == 5
    assert files.absolute(f"{folder}/a/") == files.absolute(f"{folder}/a")
    for query in (files.size, files.modified_ns):
        with pytest.raises(FileNotFoundError, match="none"):
            query(f"{folder}/none")


def test_time_of_the_last_write(folder, tmp_path):
    put(f"{folder}/file", "x")
    assert files.modified_ns(f"{folder}/file") == tf.io.gfile.stat(f"{folder}/file").mtime_nsec
    os.utime(tmp_path, ns=(5, 1_234_567_890_987_654_321))
    assert files.modified_ns(tmp_path) == tf.io.gfile.stat(str(tmp_path)).mtime_nsec == 1_234_567_890_000_000_000


def test_contents_of_a_directory_and_their_removal(folder):
    for name in ("b", "a/y", "a/z/x", ".hidden", "a/.git/x"):
        put(f"{folder}/{name}", "x")
    assert files.names_in(folder) == [".hidden", "a", "b"]
    below = [f"{folder}/{name}" for name in ("a/y", "a/z/x", "b")]
    assert files.files_below(folder + ("/" if files.is_remote(folder) else "")) == below
    assert files.folders_among([f"{folder}/a", f"{folder}/b"]) == {f"{folder}/a"}
    assert files.matching(f"{folder}/a/[yz]") == [f"{folder}/a/{name}" for name in "yz"]
    files.remove(f"{folder}/b")
    files.remove_tree(f"{folder}/a")
    assert files.names_in(folder) == [".hidden"]
    for function in (files.names_in, files.remove):
        with pytest.raises(OSError, match="none"):
            function(f"{folder}/none")


def test_an_object_store_gets_one_request_per_directory(store, monkeypatch):
    names = {store: ["a/", "b", "c", ".d", ""], f"{store}/a": ["x", "y"]}  # as gs:// lists them
    requests = []
    monkeypatch.setattr(tf.io.gfile, "listdir", lambda folder: requests.append(folder) or names[folder])
    monkeypatch.setattr(tf.io.gfile, "stat", lambda path: pytest.fail("one request for each file"))
    assert files.names_in(store) == [".d", "a", "b", "c"]
    assert files.files_below(store) == [f"{store}/{name}" for name in ("a/x", "a/y", "b", "c")]
    requests.clear()
    assert files.folders_among([f"{store}/{name}" for name in "abc"]) == {f"{store}/a"}
    assert requests == [store]


def test_an_object_store_requires_no_directories(store):
    files.make_dirs(f"{store}/a/b")
    assert not tf.io.gfile.exists(f"{store}/a")


@pytest.mark.parametrize(("path", "message"), [
    ("gs://bucket//run", "^gs://bucket//run: contains an empty, '.', or '..' component"),
    ("gs://bucket/a/../run", "contains an empty, '.', or '..' component"),
    ("gs:///run", "contains an empty, '.', or '..' component"),
    ("hdfs:////run", "contains an empty, '.', or '..' component"),
    ("gs://bucket/run[1]", r"^gs://bucket/run\[1\]: contains \[, which TensorFlow interprets as a pattern"),
    ("gs://bucket/what?", r"contains \?, which"),
])
def test_invalid_names_of_outputs(path, message):
    with pytest.raises(OSError, match=message):
        files.check_output_name(path)


def test_valid_names_of_outputs():
    for path in ("gs://bucket/a b#c%20d/é/", "ram://x", "hdfs:///user/me/out", "file:///x", "here/../[1]"):
        files.check_output_name(path)
