import pytest

from bert_tf.cli import resolution
from bert_tf.config import BertConfig
from run.settings import DeviceSettings


def test_a_config_by_file_or_by_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small = BertConfig(11, 6, 2, 3, 7, max_position_embeddings=13)
    (tmp_path / "bert_config.json").write_text(small.to_json())
    assert resolution.read_config("bert_config.json", 13) == small
    assert resolution.read_config("base", 512) == BertConfig.from_name("base")
    (tmp_path / "base").write_text(small.to_json())  # a file goes before a name
    assert resolution.read_config("base", 13) == small


def test_a_length_over_the_position_table(tmp_path):
    path = tmp_path / "bert_config.json"
    path.write_text(BertConfig(11, 6, 2, 3, 7, max_position_embeddings=13).to_json())
    with pytest.raises(ValueError, match=r"`max_seq_length`=14: the model was made for at most 13 \(max_position"):
        resolution.read_config(str(path), 14)


def test_flags_that_are_not_needed_are_named_once():
    assert list(DeviceSettings(master="grpc://10.0.0.2:8470").notes()) == [
        "--master: accepted, and not needed any more (see --help)"]
    assert list(DeviceSettings().notes()) == []
