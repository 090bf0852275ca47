"""Configs by file or by name, and obsolete flags."""

import pytest

from bert_tf.cli import resolution
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from run.settings import OriginalDeviceSettings


def test_a_config_by_file_or_by_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small = BertConfig(11, 6, 2, 3, 7, max_position_embeddings=13)
    (tmp_path / "bert_config.json").write_text(small.to_json())
    assert resolution.read_config("bert_config.json", 13) == small
    assert resolution.read_config("base", 512) == BertConfig.from_name("base")
    (tmp_path / "base").write_text(small.to_json())  # A file takes precedence over a name.
    assert resolution.read_config("base", 13) == small
    with pytest.raises(InputError, match=r"`max_seq_length`=14: must be at most 13 \(max_position"):
        resolution.read_config("base", 14)


def test_obsolete_flags_have_a_note():
    assert list(OriginalDeviceSettings(master="grpc://10.0.0.2:8470").notes()) == [
        "note: --master: obsolete and ignored (see --help)"]
    assert list(OriginalDeviceSettings().notes()) == []
