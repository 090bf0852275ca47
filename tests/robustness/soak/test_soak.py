"""Each job, killed and restarted, leaves the files of an undisturbed job.

The first variant of each command is killed once. `make soak` kills each variant many times.
"""

import os
import random

import pytest

from tests.robustness.soak.disturbing import Disturber
from tests.robustness.soak.variants import VARIANTS, prepare

KILLS = int(os.environ.get("SOAK_KILLS", "0"))
FIRST = {command: name for name, (command, _) in reversed(VARIANTS.items())}

pytestmark = [pytest.mark.extra_large, pytest.mark.timeout(300 * max(1, KILLS))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("soak")
    prepare(folder)
    return folder


@pytest.mark.parametrize("name", VARIANTS if KILLS else sorted(FIRST.values()))
def test_killed_job(folder, tmp_path, name):
    assert Disturber(folder, tmp_path, random.Random(name), *VARIANTS[name]).run(max(1, KILLS)) == []
