"""The page of all scripts and their flags, docs/reference.md."""

import pytest

from tests import reference_page


def test_the_page_is_up_to_date():
    if reference_page.PAGE.read_text(encoding="utf-8") != reference_page.write_page():
        pytest.fail(
            f"docs/reference.md is not up to date: run `{reference_page.REGENERATE}`", pytrace=False
        )
