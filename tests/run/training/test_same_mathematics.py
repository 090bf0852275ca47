"""Every strategy, and accumulated gradients, give the losses and weights of the original on one device.

The reference batches hold 4 examples with 1 to 6 predictions each, so that replicas and micro-batches hold different
numbers of predictions. Tolerance: 1e-4 relative, what the original allows itself between machines.
"""

import contextlib
import json
import socket

import numpy as np
import pytest

from tests import reference_training

RELATIVE = 1e-4
WORKER_SECONDS = 240


def assert_reference(numbers, found):
    """numbers: of the original; found: losses and norms."""
    for name, values in zip(("loss", "final_norms"), found, strict=True):
        np.testing.assert_allclose(values, numbers[name], rtol=RELATIVE, err_msg=name)


@pytest.mark.large
@pytest.mark.parametrize(("kind", "on_replicas", "options"), [
    ("pretrain", True, {}),
    ("classify", True, {"accumulate_steps": 2}),
    ("pretrain", False, {"accumulate_steps": 2, "encoder_options": {"layers": "unpadded"}}),
    ("pretrain", False, {"accumulate_steps": 2, "jit_compile": True}),
], ids=["replicas", "replicas with gradient accumulation", "gradient accumulation without padding", "XLA"])
def test_losses_and_weights_are_the_originals(kind, on_replicas, options, one_device, two_replicas, reference_numbers):
    strategy = two_replicas if on_replicas else one_device
    assert_reference(reference_numbers(kind), reference_training.train(kind, strategy, **options))


@pytest.mark.extra_large
@pytest.mark.parametrize("jit_compile", [False, True], ids=["plain", "compiled by XLA"])
def test_float16_with_a_loss_scale(jit_compile, one_device, two_replicas, reference_numbers):
    """float16 carries 11 bits: the losses are the original's to 2^-11."""
    found, _ = reference_training.train("pretrain", one_device if jit_compile else two_replicas, scale_loss=True,
                                        encoder_options={"dtype": "mixed_float16"}, jit_compile=jit_compile)
    np.testing.assert_allclose(found, reference_numbers("pretrain")["loss"], rtol=2**-11)


@pytest.mark.extra_large
@pytest.mark.timeout(WORKER_SECONDS)
def test_two_processes(reference_numbers):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(2)]
        addresses = [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]
    workers = [reference_training.start_worker(addresses, index) for index in range(2)]
    try:
        answers = [worker.communicate(timeout=WORKER_SECONDS) for worker in workers]
    finally:
        for worker in workers:
            worker.kill()
    for worker, (output, errors) in zip(workers, answers, strict=True):
        assert worker.returncode == 0, errors[-3000:]
        found = json.loads(output)
        for kind in reference_training.KINDS:
            assert_reference(reference_numbers(kind), (found[kind]["losses"], found[kind]["norms"]))
