import pytest

from bert_tf.config import BertConfig
from run.settings import flags


def test_a_config_by_file_or_by_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small = BertConfig(11, 6, 2, 3, 7, max_position_embeddings=13)
    (tmp_path / "bert_config.json").write_text(small.to_json())
    assert flags.read_config("bert_config.json", 13) == small
    assert flags.read_config("base", 512) == BertConfig.from_name("base")
    (tmp_path / "base").write_text(small.to_json())  # a file goes before a name
    assert flags.read_config("base", 13) == small


def test_a_length_over_the_position_table(tmp_path):
    path = tmp_path / "bert_config.json"
    path.write_text(BertConfig(11, 6, 2, 3, 7, max_position_embeddings=13).to_json())
    with pytest.raises(ValueError, match=r"--max_seq_length=14: the model was made for at most 13 \(max_position"):
        flags.read_config(str(path), 14)


def test_flags_that_are_not_needed_are_named_once(capsys):
    flags.note_unneeded({"master": "grpc://10.0.0.2:8470", "tpu_zone": None, "gcp_project": None, "num_tpu_cores": 8})
    assert capsys.readouterr().out == "--master: accepted, and not needed any more (see --help)\n"


def test_output_dir(tmp_path):
    flags.make_output_dir(str(tmp_path / "a" / "b"))
    assert (tmp_path / "a" / "b").is_dir()
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match=r"--output_dir=.*file: is a file, a folder is needed"):
        flags.make_output_dir(str(tmp_path / "file"))
    with pytest.raises(ValueError, match="--output_dir is needed"):
        flags.make_output_dir(None)
