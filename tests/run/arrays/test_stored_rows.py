"""Arrays of rows on disk: names, bytes, and fingerprints, which existing directories depend on."""

import os

import numpy as np

from run.arrays import stored_rows
from run.arrays.stored_rows import Entry, StoredRows

LENGTHS = [2, 3]


def test_fingerprints():
    assert stored_rows.find_subfolder("kept", [{"of": "one"}, {"data": 1}]) == os.path.join("kept", "ab15978ae16b0263")
    for metadata in ({"encoder": "e", "data": "d"}, {"data": "d", "encoder": "e"}):
        assert stored_rows.find_subfolder("kept", metadata) == os.path.join("kept", "830cc0cd35fb3b59")


def test_bytes_of_plain_values(tmp_path):
    rng = np.random.default_rng(3)
    scores = [rng.normal(size=[4, 3, 3]).astype(np.float16) for _ in LENGTHS]
    kept = StoredRows(str(tmp_path), {"attention": Entry([4, -1, -1], "float16")}, LENGTHS)
    kept.write({"attention": kept.get_path("attention")}, [([1], {"attention": scores[1:]}),
                                                           ([0], {"attention": scores[:1]})], "", "")
    expected = scores[0][:, :2, :2].tobytes() + scores[1].tobytes()
    assert (tmp_path / "attention.bin").read_bytes() == expected
    np.testing.assert_array_equal(kept.open("").look_up([0], 3)[0][0, :, :2, :2], scores[0][:, :2, :2])
