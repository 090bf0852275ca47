"""Averages of the outputs of several models."""

import types

import numpy as np
import pytest

from run.tasks import SpanLabelerTask


@pytest.mark.parametrize("ignores_padding", [False, True])
def test_spans_are_averaged_over_all_windows_of_a_question(ignores_padding):
    """Questions 0 and 2 have two windows and one; question 1 has none, as if its context were empty."""
    mask = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [1, 1, 1, 1, 0]])
    data = types.SimpleNamespace(windows=[types.SimpleNamespace(example_index=index) for index in (0, 0, 2)])
    penalty = -10_000.0 * (1 - mask) if ignores_padding else 0
    task = types.SimpleNamespace(data=data, _padding_penalty=penalty)
    generator = np.random.default_rng(1)
    outputs = [{name: generator.normal(size=mask.shape).astype(np.float32) for name in ("start_logits", "end_logits")}
               for _ in range(3)]
    averaged = SpanLabelerTask.average(task, outputs)
    for name, logits in averaged.items():
        expected = []
        for each in outputs:
            numbers = np.exp(each[name]) * (mask if ignores_padding else 1)
            expected.append(np.concatenate([numbers[:2] / numbers[:2].sum(), numbers[2:] / numbers[2:].sum()]))
        np.testing.assert_allclose(np.exp(logits), np.mean(expected, axis=0), rtol=1e-5, atol=1e-30)
        assert logits.dtype == np.float32
        assert np.isfinite(logits).all()
