import pytest
import tensorflow as tf


@pytest.fixture
def one_device():
    return tf.distribute.OneDeviceStrategy("CPU:0")
