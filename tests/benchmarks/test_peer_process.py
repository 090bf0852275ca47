"""Peers in child processes."""

import os
import sys
from typing import NamedTuple

import pytest

from benchmarks import embeddings, measurements
from benchmarks.peer_process import PeerError, PeerProcess, Seconds, read_peak_memory

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
    # This process has imported TensorFlow, and the other one has not.
    assert 1e6 < peer.call("peak_memory") < read_peak_memory() / 2
    with pytest.raises(PeerError, match="its process ended with status 3"):
        peer.call("end")
    peer.close()


class Failure(NamedTuple):
    """A peer that cannot start."""

    note: str
    packages: tuple = ()
    options: dict = {}  # noqa: RUF012


@pytest.mark.parametrize(
    "failure",
    [
        Failure(
            "no_such_package cannot be imported; run pip install -e '.[peers]'",
            ("json", "no_such_package"),
        ),
        Failure(
            "no_such_package cannot be imported; install it",
            ("no_such_package",),
            {"advice": "install it"},
        ),
        # The packages of another Python are not checked.
        Failure("ValueError: negative", ("no_such_package",), {"python": sys.executable}),
        Failure("its process ended with status 1", options={"python": "/bin/false"}),
        Failure("ValueError: negative"),
    ],
)
def test_a_peer_that_cannot_start_is_a_note(tmp_path, failure, capsys):
    with measurements.Results(
        "test", measurements.BenchmarkSettings(results_dir=str(tmp_path))
    ) as results:
        assert results.start_peer("A peer", failure.packages, MODULE, -1, **failure.options) is None
    assert capsys.readouterr().out == f"note: A peer is not measured: {failure.note}\n"


def test_backends_with_optimum_say_what_to_install():
    for name, packages in embeddings.BACKENDS.values():
        assert ("optimum" in packages) == (name != "PyTorch")
    assert "optimum-onnx==" in embeddings.OPTIMUM_ADVICE
