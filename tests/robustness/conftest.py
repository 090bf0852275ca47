"""The world: files that hostile commands find."""

import pytest

from tests.robustness import world


@pytest.fixture(scope="session")
def world_folder(tmp_path_factory):
    """A directory filled by `world.make`. Fails at the end if a test changed it."""
    folder = tmp_path_factory.mktemp("world")
    world.make(folder)
    before = world.snapshot(folder)
    yield folder
    assert world.snapshot(folder) == before
