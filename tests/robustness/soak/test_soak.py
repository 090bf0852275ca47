"""Each job, killed once and restarted, leaves the files of an undisturbed job.

`make soak` kills at more moments.
"""

import random

import pytest

from tests.robustness.soak import variants
from tests.robustness.soak.disturbing import FAILURES, Disturber

pytestmark = [pytest.mark.extra_large, pytest.mark.timeout(300)]

JOBS = dict(reversed(variants.VARIANTS.values()))  # The first variant of each command.


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("soak")
    variants.prepare(folder)
    return folder


@pytest.mark.parametrize("command", JOBS)
def test_killed_job(folder, tmp_path, capsys, command):
    counts = Disturber(folder, tmp_path, random.Random(command), print, command, JOBS[command]).run(
        1
    )
    assert counts["kills"] == 1
    assert not any(counts[each] for each in FAILURES), capsys.readouterr().out
