"""Invalid files end a script with status 1 and a line that names the file; unusual ones do not. No file is lost."""

import pytest

from tests.robustness import runner, tries


@pytest.fixture(scope="module")
def run(world_folder, tmp_path_factory):
    return runner.Runner(world_folder, tmp_path_factory.mktemp("tries")).run


@pytest.mark.timeout(180)  # The first one makes the world.
@pytest.mark.parametrize("each", tries.make(), ids=lambda each: each.name)
def test_try(run, each):
    assert not (found := run(each)), "\n".join([str(each), *found])
