"""Reading bytes, text and JSON, local and on TensorFlow's file systems (ram://)."""

import os

import pytest
import tensorflow as tf

from bert_tf import files
from bert_tf.errors import InputError


def put(path, value):
    if tf.io.gfile.exists(path):
        tf.io.gfile.remove(path)  # ram:// would append
    with tf.io.gfile.GFile(path, "wb") as file:
        file.write(value)


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


def test_a_stream_of_bytes(folder):
    content = bytes(range(256)) * 9_000  # over the buffer
    put(f"{folder}/file", content)
    with files.open_bytes(f"{folder}/file") as file:
        assert file.read(3) == content[:3]
        assert file.seek(-5, os.SEEK_END) == len(content) - 5
        assert file.read() == content[-5:]
        assert file.read() == b""
        assert file.seek(2_000_000) == file.tell() == 2_000_000
        assert file.seek(7, os.SEEK_CUR) == 2_000_007
        assert file.read(10) == content[2_000_007:2_000_017]
    put(f"{folder}/lines", b"a\r\nb\n\xff")
    with files.open_bytes(f"{folder}/lines") as file:
        assert list(file) == [b"a\r\n", b"b\n", b"\xff"]


def test_a_local_copy_has_the_name_and_goes(folder):
    put(f"{folder}/model.safetensors", b"abc")
    with files.local_copy(f"{folder}/model.safetensors") as path:
        assert os.path.basename(path) == "model.safetensors"
        with open(path, "rb") as file:
            assert file.read() == b"abc"
    assert os.path.exists(path) == (not files.is_remote(folder))
    assert files.exists(f"{folder}/model.safetensors")


def test_a_folder_is_no_file(folder):
    tf.io.gfile.makedirs(f"{folder}/inside")
    with pytest.raises(OSError, match="inside"):
        files.read_bytes(f"{folder}/inside")


def test_a_key_that_an_object_has_twice(tmp_path):
    (tmp_path / "a.json").write_text('{"a": [{"b": 1, "c": 2, "b": 3}]}')
    with pytest.raises(InputError, match=r"a\.json: has the key 'b' twice in an object"):
        files.read_json_object(tmp_path / "a.json")
    assert files.read_json(tmp_path / "a.json") == {"a": [{"b": 3, "c": 2}]}


def test_lines_of_which_bytes_are_dropped(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfa\r\nb\xff\r\n\xe2\x80\xa8\n\n\xc3")
    decoder = files.LineDecoder()
    assert files.read_lines(tmp_path / "a.txt", decoder) == ["a", "b", "\u2028", "", ""]
    assert decoder.note() == "2 lines have bytes that are not UTF-8, which are left out"
    assert files.LineDecoder().note() == ""
