"""A working directory."""

import pytest


@pytest.fixture(scope="module")
def working_folder(tmp_path_factory):
    """A new directory, which is the current directory in the tests of a module."""
    folder = tmp_path_factory.mktemp("working")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield folder
