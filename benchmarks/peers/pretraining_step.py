"""A pre-training step of this project in its own process, because the peak memory of a process never decreases."""

from benchmarks import models
from bert_tf.cli.resolution import read_config
from bert_tf.fast import Fast, FastEncoder


class Peer:
    """The step.

    Args:
      bert_config_file: str. Path or published size.
      batch_size, length, predictions: int. Shape of the batch.
      recompute: bool. Whether to use activation checkpointing.
    """

    def __init__(self, bert_config_file, batch_size, length, predictions, recompute):
        config = read_config(bert_config_file, length)
        self._step = models.create_pretraining_step(FastEncoder(config, Fast(recompute=recompute)),
                                                    models.make_batch(config, batch_size, length, predictions))

    def run(self):
        """Computes the step."""
        self._step().numpy()

    def get_peak_memory(self):
        """Returns the peak resident memory of this process in bytes; Linux only.

        getrusage's ru_maxrss is unsuitable, because it starts with the memory of the parent process.
        """
        with open("/proc/self/status", encoding="ascii") as file:
            return 1024 * int(next(line.split()[1] for line in file if line.startswith("VmHWM:")))
