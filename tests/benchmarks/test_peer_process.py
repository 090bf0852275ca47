"""Peers in child processes."""

import os
import time

import pytest

from benchmarks import measurements
from benchmarks.peer_process import PeerError, PeerProcess, Seconds

pytestmark = pytest.mark.large

MODULE = "tests.benchmarks.fake_peer"


@pytest.fixture
def results(tmp_path):
    with measurements.Results("test", measurements.BenchmarkSettings(results_dir=str(tmp_path))) as results:
        yield results


def test_methods_run_in_another_process():
    peer = PeerProcess(MODULE, 5)
    assert peer.call("add", 2) == 7
    assert peer.call("add", 2) == 9
    process = peer.call("get_process")
    assert process != os.getpid()
    started = time.perf_counter()
    seconds = peer.time("wait", 0.2)
    assert 0.2 <= seconds <= time.perf_counter() - started
    assert isinstance(seconds, Seconds)
    with pytest.raises(PeerError, match=r"^AttributeError: .*no_such"):
        peer.call("no_such")
    assert peer.call("add", 1) == 10
    peer.close()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_the_end_of_the_process_is_an_error(results):
    peer = results.start_peer("A peer", [], MODULE, 5)
    with pytest.raises(PeerError, match="its process ended with status 3"):
        peer.call("end")


@pytest.mark.parametrize(("packages", "module", "note"), [
    (["json", "no_such_package"], MODULE,
     "note: A peer is not measured: no_such_package cannot be imported; run pip install -e '.[peers]'\n"),
    ([], MODULE, "note: A peer is not measured: ValueError: negative\n"),
    ([], "no_such_module", "note: A peer is not measured: ModuleNotFoundError: No module named 'no_such_module'\n")])
def test_a_peer_that_cannot_start_is_a_note(results, packages, module, note, capsys):
    assert results.start_peer("A peer", packages, module, -1) is None
    assert capsys.readouterr().out == note
