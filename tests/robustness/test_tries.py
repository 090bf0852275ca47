"""Hostile command lines, and odd ones that are valid: each ends as it should, says so in a line, and spoils no file."""

import pytest

from tests.robustness import content_tries, flag_tries, place_tries, resume_tries, runner, world

TRIES = [each for table in (flag_tries, place_tries, content_tries, resume_tries) for each in table.tries()]
LEAST = 300


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Runs a Try in a world of its own kind; gives what did not behave."""
    folder, temporary = runner.world_folder(tmp_path_factory.mktemp("tries"))
    world.make(folder)
    return runner.Runner(folder, temporary).run


@pytest.mark.timeout(180)  # the first makes the world
@pytest.mark.parametrize("each", TRIES, ids=lambda each: each.name)
def test_a_try(run, each):
    assert not (found := run(each)), "\n".join([str(each), *found])


def test_there_are_enough():
    assert len(TRIES) >= LEAST
