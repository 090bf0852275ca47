"""The contract of training techniques: the methods that a run calls, and when."""


class Technique:
    """A change to how models are trained. Each method does nothing unless a subclass overrides it.

    A command has one object for all its runs. The rules of `run.techniques.settings` reject
    incompatible techniques.
    """

    def build(self, run):
        """Changes a run.training.loop.Run before its weights are loaded. See its attributes."""

    def begin(self, run):
        """Computes what training requires, after all checks, just before the first step."""

    def batches(self, dataset):
        """Returns the dataset of training batches with the technique's additional features."""
        return dataset

    def finish(self, run):
        """Restores a plain model after training or restoring, and reports."""
