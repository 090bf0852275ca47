"""The page of all scripts and their flags, docs/reference.md."""

import pytest

from run import run_tagger
from tests import reference_page


def test_the_page_is_up_to_date():
    if reference_page.PAGE.read_text(encoding="utf-8") != reference_page.write_page():
        pytest.fail(f"docs/reference.md is not up to date: run `{reference_page.REGENERATE}`", pytrace=False)


def test_types_and_defaults():
    fields = {field.name: (field, value) for field, value in run_tagger.COMMAND.settings.fields()}
    rows = {name: reference_page.write_flag(*pair).split(" | ")[1:3] for name, pair in fields.items()}
    assert rows["do_train"] == ["boolean", "`False`"]
    assert rows["output_dir"] == ["string", "required"]
    assert rows["eval_steps"] == ["integer, at least 1", "none"]
    assert rows["layerwise_learning_rate_decay"] == ["number, at least 0, at most 1", "`1.0`"]
    assert rows["search_epochs"] == ["numbers, comma-separated, at least 0", "`2.0,3.0,4.0`"]
    assert rows["mixed_precision"] == ["float32, tf32, bfloat16, float16", "`float32`"]
