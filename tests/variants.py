"""Variants of a test: parameters that run only with all tests (`pytest -m ""`)."""

import pytest


def mark_variants(values, *always):
    """Returns the parameters of a test, of which only `always` run without `-m ""`."""
    assert all(value in values for value in always), f"{always} are not all in {values}"
    return [
        value if value in always else pytest.param(value, marks=pytest.mark.extra_large)
        for value in values
    ]
