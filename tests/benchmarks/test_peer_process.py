"""Peers in child processes."""

import os

import pytest

from benchmarks import measurements
from benchmarks.peer_process import PeerError, PeerProcess, Seconds

pytestmark = pytest.mark.large

MODULE = "tests.benchmarks.fake_peer"


def test_methods_run_in_another_process():
    peer = PeerProcess(MODULE, 5)
    number, process = peer.call("add", 2)
    assert number == 7
    assert process != os.getpid()
    assert isinstance(peer.time("add", 1), Seconds)
    with pytest.raises(PeerError, match=r"^AttributeError: .*no_such"):
        peer.call("no_such")
    assert peer.call("add", 1) == (9, process)
    with pytest.raises(PeerError, match="its process ended with status 3"):
        peer.call("end")
    peer.close()


@pytest.mark.parametrize(
    ("packages", "module", "note"),
    [
        (
            ["json", "no_such_package"],
            MODULE,
            "no_such_package cannot be imported; run pip install -e '.[peers]'",
        ),
        ([], MODULE, "ValueError: negative"),
    ],
)
def test_a_peer_that_cannot_start_is_a_note(tmp_path, packages, module, note, capsys):
    with measurements.Results(
        "test", measurements.BenchmarkSettings(results_dir=str(tmp_path))
    ) as results:
        assert results.start_peer("A peer", packages, module, -1) is None
    assert capsys.readouterr().out == f"note: A peer is not measured: {note}\n"
