"""Words have one meaning: see `tests.words` and the glossary in CONTRIBUTING.md."""

import pytest

from tests import words


@pytest.fixture(scope="module")
def findings():
    return words.find_all()


@pytest.mark.parametrize("use", words.USES)
def test_no_use_is_retired(findings, use):
    assert [f"{found.path}:{found.line}" for found in findings if found.use == use] == []


@pytest.mark.parametrize(
    ("use", "source"),
    [
        ("place", "a = 1\nplace = a"),
        ("place", "a = 1\nfor first_place in a:\n    pass"),
        ("place", "\ndef find_places(a):\n    pass"),
        ("place", "\nPLACES = 1"),
        ("place", "\nclass _Place:\n    pass"),
        ("place", "def f():\n    '''Returns the place of a file.'''"),
        ("place", "a = 1\nb = 2  # The places of tokens, shuffled in place."),
        ("place", "a = 1\nb = f'{a}: wrong place'"),
        ("settings_class", "a = 1\nclass Settings:\n    pass"),
        ("backquotes", "\nraise InputError('`size`=1: must be at least 2')"),
        ("backquotes", "\nraise InputError(f'`size`={size}: must be at least 2')"),
        ("backquotes", "\nraise InputError(f'`{name}`={size}: must be at least 2')"),
        ("backquotes", "\nraise InputError('`size` must be at least 2')"),
    ],
)
def test_a_use_is_found(use, source):
    assert list(words.find_uses(source, "a.py")) == [words.Finding(use, "a.py", 2)]


@pytest.mark.parametrize(
    "source",
    [
        "a = b.replace('c', 'd')\nreplaced = placeholder = 1",
        "def f():\n    '''Shuffles an array in place; this takes place once.'''",
        "class ClassifierSettings:\n    pass",
        "raise InputError('must be at least 2', 'size', size)",
        "raise InputError('`max_size` is less than `size`', 'size')",
        "raise InputError('`size` and `max_size` cannot be combined')",
        "raise InputError(f'{path}: requires `size`')",
    ],
)
def test_other_uses_are_not_found(source):
    assert list(words.find_uses(source, "a.py")) == []


def test_the_base_class_of_settings_is_exempt():
    source = "class Settings:\n    pass"
    assert list(words.find_uses(source, words.SETTINGS_HOME)) == []
