"""Queries about paths, and reading: local, on ram://, in an object store, and errors of gs://."""

import dataclasses
import os
import pathlib

import pytest
import tensorflow as tf

from bert_tf import files
from tests.errors import Message, raises_message, rejects
from tests.remote_folders import put


def test_a_missing_file_and_a_directory(folder_path):
    message = (
        f"^{folder_path}/none: cannot be read: NotFoundError"
        if files.is_remote(folder_path)
        else "No such file"
    )
    with pytest.raises(OSError, match=message):
        files.read_json(f"{folder_path}/none")
    tf.io.gfile.makedirs(f"{folder_path}/inside")
    with pytest.raises(OSError, match="inside"):
        files.read_bytes(f"{folder_path}/inside")


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_text_is_utf_8_with_or_without_a_byte_order_mark(folder_path, mark):
    put(f"{folder_path}/file", mark + "é\r\n".encode())
    assert files.read_bytes(f"{folder_path}/file") == mark + "é\r\n".encode()
    assert files.read_text(f"{folder_path}/file") == "é\r\n"
    put(f"{folder_path}/json", mark + b'{"a": "\xc3\xa9"}')
    assert files.read_json_object(f"{folder_path}/json") == {"a": "é"}
    put(f"{folder_path}/latin", mark + "aé".encode("latin-1"))
    with rejects("latin", f"byte {len(mark) + 2} is 0xe9", "not UTF-8", "save the file"):
        files.read_text(f"{folder_path}/latin")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", Message(None, "is not JSON", "Expecting value", "line 1 column 1")),
        ("[" * 100_000, Message(None, "the JSON is nested too deeply")),
        ("9" * 5_000, Message(None, "is not JSON", "Exceeds the limit")),
        ("[1]", Message(None, "expected a JSON object, found list")),
    ],
)
def test_invalid_json_objects(tmp_path, text, message):
    (tmp_path / "file.json").write_text(text)
    with raises_message(message, file=tmp_path / "file.json"):
        files.read_json_object(tmp_path / "file.json")


def test_a_stream_of_bytes(folder_path):
    content = bytes(range(256)) * 9_000  # larger than the buffer
    put(f"{folder_path}/file", content)
    with files.at(f"{folder_path}/file").open() as file:
        assert file.read(3) == content[:3]
        assert file.seek(-5, os.SEEK_END) == len(content) - 5
        assert file.read() == content[-5:]
        assert file.read() == b""
        assert file.seek(2_000_000) == file.tell() == 2_000_000
        assert file.seek(7, os.SEEK_CUR) == 2_000_007
        assert file.read(10) == content[2_000_007:2_000_017]
    put(f"{folder_path}/lines", b"a\r\nb\n\xff")
    with files.at(f"{folder_path}/lines").open() as file:
        assert list(file) == [b"a\r\n", b"b\n", b"\xff"]


def test_a_local_copy_keeps_the_name_and_is_removed(folder_path):
    put(f"{folder_path}/model.safetensors", b"abc")
    with files.at(f"{folder_path}/model.safetensors").local_copy() as path:
        assert os.path.basename(path) == "model.safetensors"
        assert files.read_bytes(path) == b"abc"
    assert os.path.exists(path) == (not files.is_remote(folder_path))
    assert files.at(f"{folder_path}/model.safetensors").exists()


def test_lines_with_invalid_bytes(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfa\r\nb\xff\r\n\xe2\x80\xa8\n\n\xc3")
    decoder = files.LineDecoder()
    assert files.read_lines(tmp_path / "a.txt", decoder) == ["a", "b", "\u2028", "", ""]
    assert decoder.num_garbled == 2


def test_the_scheme_shows_which_paths_are_remote():
    paths = ("gs://a/b", b"ram://a", "hdfs://a", "a/b", pathlib.Path("a"), b"a:/b")
    assert [files.is_remote(path) for path in paths] == [True, True, True, False, False, False]
    assert [files.at(path).is_store for path in paths] == [True, False, False, False, False, False]


def test_kind_and_size_of_a_path(folder_path):
    put(f"{folder_path}/a/file", "12345")
    names = ("a", "a/file", "none", "a/")
    assert [files.at(f"{folder_path}/{name}").exists() for name in names] == [
        True,
        True,
        False,
        True,
    ]
    assert [files.at(f"{folder_path}/{name}").is_dir() for name in names] == [
        True,
        False,
        False,
        True,
    ]
    assert [files.at(f"{folder_path}/{name}").is_file() for name in names] == [
        False,
        True,
        False,
        False,
    ]
    assert files.at(f"{folder_path}/a/file").size() == 5
    assert files.at(f"{folder_path}/a/").absolute() == files.at(f"{folder_path}/a").absolute()
    none = files.at(f"{folder_path}/none")
    for query in (none.size, none.modified_ns):
        with pytest.raises(FileNotFoundError, match="none"):
            query()


def test_contents_of_a_directory_and_their_removal(folder_path):
    for name in ("b", "a/y", "a/z/x", ".hidden", "a/.git/x"):
        put(f"{folder_path}/{name}", "x")
    assert files.at(folder_path).names() == [".hidden", "a", "b"]
    below = [f"{folder_path}/{name}" for name in ("a/y", "a/z/x", "b")]
    assert (
        files.at(folder_path + ("/" if files.is_remote(folder_path) else "")).files_below() == below
    )
    assert files.folders_among([f"{folder_path}/a", f"{folder_path}/b"]) == {f"{folder_path}/a"}
    assert files.at(f"{folder_path}/a/[yz]").matching() == [
        f"{folder_path}/a/{name}" for name in "yz"
    ]
    files.at(f"{folder_path}/b").remove()
    files.at(f"{folder_path}/a").remove_tree()
    assert files.at(folder_path).names() == [".hidden"]
    none = files.at(f"{folder_path}/none")
    assert none.names_if_dir() == []
    for method in (none.names, none.remove):
        with pytest.raises(OSError, match="none"):
            method()


def test_an_object_store_gets_one_request_per_directory(store, monkeypatch):
    names = {store: ["a/", "b", "c", ".d", ""], f"{store}/a": ["x", "y"]}  # as gs:// lists them
    requests = []
    monkeypatch.setattr(
        tf.io.gfile, "listdir", lambda folder: requests.append(folder) or names[folder]
    )
    monkeypatch.setattr(tf.io.gfile, "stat", lambda path: pytest.fail("one request for each file"))
    assert files.at(store).names() == [".d", "a", "b", "c"]
    assert files.at(store).files_below() == [f"{store}/{name}" for name in ("a/x", "a/y", "b", "c")]
    requests.clear()
    assert files.folders_among([f"{store}/{name}" for name in "abc"]) == {f"{store}/a"}
    assert requests == [store]


PATH = "gs://corpus/x"


def http(code, message):
    body = f'{{"error": {{"code": {code}, "message": "{message}"}}}}'
    return (
        f"Error executing an HTTP request: HTTP response code {code} with body '{body}'\n\t when "
        f"reading metadata of {PATH}"
    )


@dataclasses.dataclass(frozen=True)
class Failure:
    """An error of TensorFlow, and the exception that it becomes.

    Attributes:
      error: Class of the error of TensorFlow.
      message: str. Its message.
      expected: Class of the exception.
      parts: Tuple of str. Parts of the message of the exception.
      end: str. End of that message.
    """

    error: type
    message: str
    expected: type
    parts: tuple
    end: str


@pytest.mark.parametrize(
    "case",
    [
        Failure(
            error=tf.errors.NotFoundError,
            message=http(404, "The specified bucket does not exist."),
            expected=FileNotFoundError,
            parts=("HTTP 404: ",),
            end="The specified bucket does not exist.",
        ),
        Failure(
            error=tf.errors.PermissionDeniedError,
            message=http(401, "Anonymous caller does not have storage.objects.get"),
            expected=PermissionError,
            parts=(
                "HTTP 401: Anonymous caller",
                "storage.objects.get",
                "run gcloud auth application-default login",
            ),
            end="or set GOOGLE_APPLICATION_CREDENTIALS",
        ),
        Failure(
            error=tf.errors.PermissionDeniedError,
            message="HTTP response code 403 with body '<html>'",
            expected=PermissionError,
            parts=("HTTP response code 403",),
            end=" with body '<html>'",
        ),
        Failure(
            error=tf.errors.UnavailableError,
            message="Could not resolve host:\n\t www.googleapis.com",
            expected=OSError,
            parts=(),
            end="Could not resolve host: www.googleapis.com",
        ),
    ],
)
def test_reasons(monkeypatch, case):
    def fail(path):
        raise case.error(None, None, case.message)

    monkeypatch.setattr(tf.io.gfile, "stat", fail)
    file = files.at(PATH)
    for query in (file.exists, file.is_dir, file.is_file, file.size):
        with rejects(
            PATH, "cannot be read", *case.parts, error=case.expected, end=case.end
        ) as caught:
            query()
        assert isinstance(caught.value.__cause__, case.error)


def test_a_missing_object_is_not_an_error(monkeypatch):
    def fail(path):
        raise tf.errors.NotFoundError(None, None, f"The specified path {PATH} was not found.")

    monkeypatch.setattr(tf.io.gfile, "stat", fail)
    assert not files.at(PATH).exists()
    with pytest.raises(FileNotFoundError, match=rf"^{PATH}: does not exist$"):
        files.at(PATH).size()


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (
            "gs://two words/x",
            Message(None, "'two words' is not", "use only lowercase letters, digits, - _ ."),
        ),
        ("gs:///x", Message(None, "cannot be read", "GCS path doesn't contain")),
        ("none://a", Message(None, "cannot be read", "File system scheme 'none' not implemented")),
    ],
)
def test_invalid_buckets_and_schemes(path, message):
    with raises_message(message, OSError, file=path):
        files.at(path).exists()
