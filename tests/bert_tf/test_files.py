import pytest

from bert_tf.files import new_file


def test_a_file_appears_when_it_is_whole(tmp_path):
    path = str(tmp_path / "results.txt")
    with new_file(path) as file:
        file.write("é\n")
        assert [each.name for each in tmp_path.iterdir()] == ["results.txt.partial"]
    assert (tmp_path / "results.txt").read_bytes() == "é\n".encode()


def test_an_error_leaves_what_was_there(tmp_path):
    path = tmp_path / "results.txt"
    path.write_text("before")

    def write_half():
        with new_file(str(path), "wb") as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()
    assert path.read_text() == "before"
    assert [each.name for each in tmp_path.iterdir()] == ["results.txt"]
