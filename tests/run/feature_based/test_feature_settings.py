"""Settings of the feature-based approach that its task takes over."""

import pytest

from bert_tf.errors import InputError
from run.feature_based.settings import FeatureBasedSettings


def test_tables_are_read_like_those_of_run_classifier():
    values = {"data_dir": "d", "columns": ("text", "label"), "table_dialect": "semicolon"}
    settings = FeatureBasedSettings().replace_values({**values, "task_name": "custom"})
    assert settings.task_settings.columns == ("text", "label")
    assert settings.task_settings.table_dialect == "semicolon"
    with pytest.raises(InputError, match=r"^`columns`=.*: requires `task_name`=custom"):
        settings.replace_values({"task_name": "sst-2"}).task_settings  # noqa: B018
