"""The model on frozen features: layers, their combination, and scores computed with NumPy."""

import numpy as np
import pytest

from run.feature_based.model import FrozenFeatureModel
from run.feature_based.settings import COMBINATIONS, CONCATENATION, MIX, SUM, select_layers
from tests.errors import rejects
from tests.numpy_lstm import bidirectional

pytestmark = pytest.mark.large

LAYERS = 4
HIDDEN = 3
LABELS = 5
WIDTH = 2


def test_layers_of_each_kind():
    found = {kind: select_layers(kind, 12) for kind in COMBINATIONS}
    last_four = (9, 10, 11, 12)
    assert found == {
        "embeddings": (0,),
        "last": (12,),
        "second_to_last": (11,),
        "sum_last_four": last_four,
        "weighted_sum_last_four": last_four,
        "concat_last_four": last_four,
        "weighted_sum_all": tuple(range(1, 13)),
    }
    assert select_layers("sum_last_four", 4) == (1, 2, 3, 4)
    assert select_layers("second_to_last", 2) == (1,)
    for kind, num_layers, needed in (
        ("sum_last_four", 3, 4),
        ("concat_last_four", 3, 4),
        ("second_to_last", 1, 2),
    ):
        with rejects("features", f"requires at least {needed} layers, but", value=kind):
            select_layers(kind, num_layers)


@pytest.mark.parametrize(
    "kind", ["last", "sum_last_four", "weighted_sum_last_four", "concat_last_four"]
)
def test_scores_equal_those_of_numpy(kind):
    combination = COMBINATIONS[kind]
    num_layers = 1 if kind == "last" else LAYERS
    model = FrozenFeatureModel(
        combination, num_layers, HIDDEN, LABELS, width=WIDTH, dropout_rate=0.4, seed=-7
    )
    rng = np.random.default_rng(4)
    if combination == MIX:
        model.mix.scores.assign(np.log([1.0, 2.0, 3.0, 4.0]))
        model.mix.gamma.assign(2.0)
    vectors = rng.normal(size=[2, 5, num_layers, HIDDEN]).astype(np.float16)
    mask = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], np.int32)
    logits = model({"vectors": vectors, "input_mask": mask})["logits"].numpy()
    weights = {MIX: [0.2, 0.4, 0.6, 0.8], SUM: [1.0] * LAYERS}.get(combination, [1.0])
    joined = (
        vectors.reshape([2, 5, -1])
        if combination == CONCATENATION
        else np.tensordot(vectors, weights, [[2], [0]])
    )
    for row, length in enumerate((5, 3)):
        x = joined[row, :length]
        for layer in model.lstm_layers:
            x = bidirectional(x, [each.numpy() for each in layer.trainable_variables])
        np.testing.assert_allclose(logits[row, :length], x @ model.head.kernel.numpy(), atol=1e-5)


def test_outputs_of_rows_are_from_the_maximum_over_positions():
    """Padding has no effect, although its values are larger than all others."""
    options = {"width": WIDTH, "dropout_rate": 0.0, "seed": 3}
    model = FrozenFeatureModel(SUM, LAYERS, HIDDEN, LABELS, pools=True, **options)
    rng = np.random.default_rng(6)
    vectors = rng.normal(size=[2, 5, LAYERS, HIDDEN]).astype(np.float16)
    vectors[1, 3:] = 1000
    mask = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], np.int32)
    logits = model({"vectors": vectors, "input_mask": mask})["logits"].numpy()
    for row, length in enumerate((5, 3)):
        x = vectors[row, :length].astype(np.float32).sum(axis=1)
        for layer in model.lstm_layers:
            x = bidirectional(x, [each.numpy() for each in layer.trainable_variables])
        np.testing.assert_allclose(
            logits[row], x.max(axis=0) @ model.head.kernel.numpy(), atol=1e-5
        )
