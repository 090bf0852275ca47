"""The settings of pre-training data."""

import pytest

from bert_tf.errors import InputError
from data_prep.pretraining import InstanceSettings, JobSettings


@pytest.mark.parametrize(("settings_class", "settings", "message"), [
    (InstanceSettings, {"max_seq_length": 4}, "`max_seq_length`=4: it must be at least 5"),
    (InstanceSettings, {"max_seq_length": 65536}, "`max_seq_length`=65536: .* at most 65535"),
    (InstanceSettings, {"max_predictions_per_seq": 0}, "`max_predictions_per_seq`=0: it must be at least 1"),
    (InstanceSettings, {"max_predictions_per_seq": 65536}, "`max_predictions_per_seq`=65536: .* at most 65535"),
    (InstanceSettings, {"dupe_factor": 0}, "`dupe_factor`=0: it must be at least 1"),
    (InstanceSettings, {"masked_lm_prob": 15}, "`masked_lm_prob`=15: a probability lies between 0 and 1"),
    (InstanceSettings, {"short_seq_prob": -0.1}, "`short_seq_prob`=-0.1: a probability lies between 0 and 1"),
    (InstanceSettings, {"masking": "none"}, "`masking`=none: it must be one of static, dynamic"),
    (InstanceSettings, {"max_sequences_per_pack": 3}, "`max_sequences_per_pack`=3: has no effect without `pack_seq"),
    (InstanceSettings, {"objective": "full_sentences", "short_seq_prob": 0.5},
     r"`short_seq_prob`=0\.5: has no effect with `objective`=full_sentences"),
    (JobSettings, {"num_output_shards": 0}, "`num_output_shards`=0: it must be at least 1"),
    (JobSettings, {"num_workers": 0}, "`num_workers`=0: it must be at least 1"),
    (JobSettings, {"max_shard_mb": -1.0}, "`max_shard_mb`=-1.0: it must be at least 0"),
    (JobSettings, {"max_shard_mb": float("nan")}, "`max_shard_mb`=nan: it must be at least 0"),
    (JobSettings, {"max_shard_mb": float("inf")}, "`max_shard_mb`=inf: give 0 for no limit"),
    (JobSettings, {"runner": "beam"}, "`runner`=beam: it must be one of local, direct, dataflow, flink, spark"),
])
def test_invalid_settings(settings_class, settings, message):
    with pytest.raises(InputError, match=message):
        settings_class(**settings)


@pytest.mark.parametrize(("settings", "expected"), [
    ({}, 10), ({"masking": "dynamic"}, 1), ({"dupe_factor": 3}, 3), ({"dupe_factor": 4, "masking": "dynamic"}, 4)])
def test_number_of_passes(settings, expected):
    assert InstanceSettings(**settings).num_passes == expected


def test_sizes_and_names():
    settings = JobSettings(output_file="a,b", max_shard_mb=0.0015)
    assert settings.output_files == ["a", "b"]
    assert settings.max_shard_bytes == 1500
    assert JobSettings(max_shard_mb=1e-9).max_shard_bytes == 1
    assert JobSettings(max_shard_mb=0.0).max_shard_bytes == 0
