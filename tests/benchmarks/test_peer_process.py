"""Peers in child processes, and the cache of converted models."""

import os
import time

import pytest

from benchmarks import measurements, model_cache, peer_process

pytestmark = pytest.mark.large

MODULE = "tests.benchmarks.fake_peer"


def test_methods_run_in_another_process():
    with peer_process.start("A peer", ["json"], MODULE, 5) as peer:
        assert peer.call("add", 2) == 7
        assert peer.call("add", 2) == 9
        process = peer.call("get_process")
        assert process != os.getpid()
        started = time.perf_counter()
        seconds = peer.time("wait", 0.2)
        assert 0.2 <= seconds <= time.perf_counter() - started
        assert isinstance(seconds, measurements.Seconds)
        with pytest.raises(peer_process.PeerError, match=r"^AttributeError: .*no_such"):
            peer.call("no_such")
        assert peer.call("add", 1) == 10
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_the_end_of_the_process_is_an_error():
    with (peer_process.start("A peer", [], MODULE, 5) as peer,
          pytest.raises(peer_process.PeerError, match="its process ended with status 3")):
        peer.call("end")


@pytest.mark.parametrize(("packages", "module", "note"), [
    (["json", "no_such_package"], MODULE,
     "note: A peer is not measured, because no_such_package cannot be imported: pip install -e '.[peers]'\n"),
    ([], MODULE, "note: A peer is not measured: ValueError: negative\n"),
    ([], "no_such_module", "note: A peer is not measured: ModuleNotFoundError: No module named 'no_such_module'\n")])
def test_a_peer_that_cannot_start_is_a_note(packages, module, note, capsys):
    with peer_process.start("A peer", packages, module, -1) as peer:
        assert peer is None
    assert capsys.readouterr().out == note


def test_a_model_is_created_once(tmp_path, monkeypatch):
    created = []

    def create(directory):
        created.append(directory)
        with open(os.path.join(directory, "model"), "w", encoding="utf-8") as file:
            file.write(str(len(created)))

    def find(key, name="model"):
        directory = model_cache.find_or_create(str(tmp_path), name, key, create)
        with open(os.path.join(directory, "model"), encoding="utf-8") as file:
            return file.read()

    assert [find([1]), find([1]), find([2]), find([2])] == ["1", "1", "2", "2"]
    assert [find([1], "model_b"), find([2])] == ["3", "2"]
    assert len(os.listdir(tmp_path)) == 2
    monkeypatch.setattr(measurements, "get_versions", lambda: {"tensorflow": "0"})
    assert find([2]) == "4"
