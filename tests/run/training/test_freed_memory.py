"""Memory of runs that are not used any more."""

import pytest
import tensorflow as tf

from bert_tf.optimization import create_optimizer
from run.settings import StepSettings, TrainingSettings
from run.training.loop import Run


class Weight(tf.Module):
    def __init__(self):
        super().__init__()
        self.weight = tf.Variable(tf.ones([7, 5]), name="weight")


@pytest.mark.parametrize("kind", ["one_device", "mirrored"])
def test_the_memory_of_weights_and_optimizer_state_is_freed(two_replicas, kind):
    strategy = two_replicas if kind == "mirrored" else tf.distribute.OneDeviceStrategy("CPU:0")
    with strategy.scope():
        model, optimizer = Weight(), create_optimizer(0.1, 9, 0)
        optimizer.build(model.trainable_variables)
    Run(TrainingSettings(output_dir="folder"), StepSettings(), strategy, model, optimizer, None, 1).free()
    assert len(optimizer.variables) >= 3
    for variable in (*model.variables, *optimizer.variables):
        for part in strategy.experimental_local_results(variable):
            handle = part.handle
            assert tf.raw_ops.ReadVariableOp(resource=handle, dtype=part.dtype).shape == [0]
