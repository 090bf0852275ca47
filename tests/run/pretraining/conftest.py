"""Toy records, read-only."""

import pytest

from tests.run.pretraining.toy_records import FEATURES, write_numbered


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """Three files of ten records; the first IDs are 0 to 29."""
    folder = tmp_path_factory.mktemp("records")
    return [
        write_numbered(folder / f"{number}.tfrecord", FEATURES, 10 * number, 10)
        for number in range(3)
    ]
