"""Reading bytes, text, and JSON, local and on TensorFlow's file systems (ram://)."""

import os

import pytest
import tensorflow as tf

from bert_tf import files
from bert_tf.errors import InputError
from tests.remote_folders import put


def test_a_missing_file_and_a_directory(folder):
    message = f"^{folder}/none: cannot be read: NotFoundError" if files.is_remote(folder) else "No such file"
    with pytest.raises(OSError, match=message):
        files.read_json(f"{folder}/none")
    tf.io.gfile.makedirs(f"{folder}/inside")
    with pytest.raises(OSError, match="inside"):
        files.read_bytes(f"{folder}/inside")


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_text_is_utf_8_with_or_without_a_byte_order_mark(folder, mark):
    put(f"{folder}/file", mark + "é\r\n".encode())
    assert files.read_bytes(f"{folder}/file") == mark + "é\r\n".encode()
    assert files.read_text(f"{folder}/file") == "é\r\n"
    put(f"{folder}/json", mark + b'{"a": "\xc3\xa9"}')
    assert files.read_json_object(f"{folder}/json") == {"a": "é"}
    put(f"{folder}/latin", mark + "aé".encode("latin-1"))
    with pytest.raises(InputError, match=rf"/latin: byte {len(mark) + 2} is 0xe9, which is not UTF-8; save the file"):
        files.read_text(f"{folder}/latin")


@pytest.mark.parametrize(("text", "message"), [
    ("", "is not JSON: Expecting value: line 1 column 1"),
    ("[" * 100_000, "the JSON is nested too deeply"),
    ("9" * 5_000, "is not JSON: Exceeds the limit"),
    ("[1]", "expected a JSON object, found list"),
    ('{"a": [{"b": 1, "c": 2, "b": 3}]}', "contains the key 'b' twice in an object"),
])
def test_invalid_json_objects(tmp_path, text, message):
    (tmp_path / "file.json").write_text(text)
    with pytest.raises(InputError, match=rf"^/.*/file\.json: {message}"):
        files.read_json_object(tmp_path / "file.json")


def test_a_stream_of_bytes(folder):
    content = bytes(range(256)) * 9_000  # larger than the buffer
    put(f"{folder}/file", content)
    with files.at(f"{folder}/file").open() as file:
        assert file.read(3) == content[:3]
        assert file.seek(-5, os.SEEK_END) == len(content) - 5
        assert file.read() == content[-5:]
        assert file.read() == b""
        assert file.seek(2_000_000) == file.tell() == 2_000_000
        assert file.seek(7, os.SEEK_CUR) == 2_000_007
        assert file.read(10) == content[2_000_007:2_000_017]
    put(f"{folder}/lines", b"a\r\nb\n\xff")
    with files.at(f"{folder}/lines").open() as file:
        assert list(file) == [b"a\r\n", b"b\n", b"\xff"]


def test_a_local_copy_keeps_the_name_and_is_removed(folder):
    put(f"{folder}/model.safetensors", b"abc")
    with files.at(f"{folder}/model.safetensors").local_copy() as path:
        assert os.path.basename(path) == "model.safetensors"
        assert files.read_bytes(path) == b"abc"
    assert os.path.exists(path) == (not files.is_remote(folder))
    assert files.at(f"{folder}/model.safetensors").exists()


def test_lines_with_invalid_bytes(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfa\r\nb\xff\r\n\xe2\x80\xa8\n\n\xc3")
    decoder = files.LineDecoder()
    assert files.read_lines(tmp_path / "a.txt", decoder) == ["a", "b", "\u2028", "", ""]
    assert decoder.note() == "2 lines contain bytes that are not UTF-8, which are ignored"
    assert files.LineDecoder().note() == ""
