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
    assert [files.at(path).is_store for path in paths] == [True, False, False, False, False, False]


def test_kind_and_size_of_a_path(folder):
    put(f"{folder}/a/file", "12345")
    names = ("a", "a/file", "none", "a/", "a/fi")  # ram:// treats a/fi as a directory
    assert [files.at(f"{folder}/{name}").exists() for name in names] == [True, True, False, True, False]
    assert [files.at(f"{folder}/{name}").is_dir() for name in names] == [True, False, False, True, False]
    assert [files.at(f"{folder}/{name}").is_file() for name in names] == [False, True, False, False, False]
    assert files.at(f"{folder}/a/file").size() == 5
    assert files.at(f"{folder}/a/").absolute() == files.at(f"{folder}/a").absolute()
    none = files.at(f"{folder}/none")
    for query in (none.size, none.modified_ns):
        with pytest.raises(FileNotFoundError, match="none"):
            query()


def test_time_of_the_last_write(folder, tmp_path):
    put(f"{folder}/file", "x")
    assert files.at(f"{folder}/file").modified_ns() == tf.io.gfile.stat(f"{folder}/file").mtime_nsec
    os.utime(tmp_path, ns=(5, 1_234_567_890_987_654_321))
    assert files.at(tmp_path).modified_ns() == tf.io.gfile.stat(str(tmp_path)).mtime_nsec == 1_234_567_890_000_000_000


def test_contents_of_a_directory_and_their_removal(folder):
    for name in ("b", "a/y", "a/z/x", ".hidden", "a/.git/x"):
        put(f"{folder}/{name}", "x")
    assert files.at(folder).names() == [".hidden", "a", "b"]
    below = [f"{folder}/{name}" for name in ("a/y", "a/z/x", "b")]
    assert files.at(folder + ("/" if files.is_remote(folder) else "")).files_below() == below
    assert files.folders_among([f"{folder}/a", f"{folder}/b"]) == {f"{folder}/a"}
    assert files.at(f"{folder}/a/[yz]").matching() == [f"{folder}/a/{name}" for name in "yz"]
    files.at(f"{folder}/b").remove()
    files.at(f"{folder}/a").remove_tree()
    assert files.at(folder).names() == [".hidden"]
    none = files.at(f"{folder}/none")
    assert none.names_if_dir() == []
    for method in (none.names, none.remove):
        with pytest.raises(OSError, match="none"):
            method()


def test_an_object_store_gets_one_request_per_directory(store, monkeypatch):
    names = {store: ["a/", "b", "c", ".d", ""], f"{store}/a": ["x", "y"]}  # as gs:// lists them
    requests = []
    monkeypatch.setattr(tf.io.gfile, "listdir", lambda folder: requests.append(folder) or names[folder])
    monkeypatch.setattr(tf.io.gfile, "stat", lambda path: pytest.fail("one request for each file"))
    assert files.at(store).names() == [".d", "a", "b", "c"]
    assert files.at(store).files_below() == [f"{store}/{name}" for name in ("a/x", "a/y", "b", "c")]
    requests.clear()
    assert files.folders_among([f"{store}/{name}" for name in "abc"]) == {f"{store}/a"}
    assert requests == [store]


@pytest.mark.parametrize(("path", "message"), [
    ("gs://bucket//run", "^gs://bucket//run: contains an empty, '.', or '..' component"),
    ("hdfs:////run", "contains an empty, '.', or '..' component"),
    ("gs://bucket/run[1]", r"^gs://bucket/run\[1\]: contains \[, which TensorFlow interprets as a pattern"),
])
def test_invalid_names_of_outputs(path, message):
    with pytest.raises(OSError, match=message):
        files.at(path).check_output_name()


def test_valid_names_of_outputs():
    for path in ("gs://bucket/a b#c%20d/é/", "ram://x", "hdfs:///user/me/out", "file:///x", "here/../[1]"):
        files.at(path).check_output_name()
