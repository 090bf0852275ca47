import pytest

from data_prep import partial_files


def test_a_file_appears_when_it_is_whole(tmp_path):
    path = str(tmp_path / "results.txt")
    with partial_files.written(path) as file:
        file.write("é\n")
        assert [each.name for each in tmp_path.iterdir()] == ["results.txt.partial"]
    assert (tmp_path / "results.txt").read_bytes() == "é\n".encode()


def test_an_error_leaves_what_was_there(tmp_path):
    path = tmp_path / "results.txt"
    path.write_text("before")

    def write_half():
        with partial_files.written(str(path), "wb") as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()
    assert path.read_text() == "before"
    assert [each.name for each in tmp_path.iterdir()] == ["results.txt"]
