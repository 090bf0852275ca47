"""Variants of a test: parameters of which some run only with all tests (`make test-all`)."""

import pytest


def mark_variants(values, *always):
    """Marks the parameters of a test as extra_large, except `always`; returns all of them."""
    assert all(value in values for value in always), f"{always} are not all in {values}"
    return [
        value if value in always else pytest.param(value, marks=pytest.mark.extra_large)
        for value in values
    ]
