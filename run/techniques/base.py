"""The contract of training techniques: the methods that a run calls, and when."""

import dataclasses


@dataclasses.dataclass
class Build:
    """A training run under construction, in the strategy's scope. Techniques change it in sequence.

    Attributes:
      model: Model of bert_tf.models.
      optimizer: Optimizer of bert_tf.optimization. Its `iterations` count the finished steps.
      loss: `bert_tf.losses.TotalLoss` of the network's outputs.
      seed: int. Seed of the run.
      steps: int. Step at which training ends. None if the model is not trained.
      network: Callable that a training step runs, from features to the inputs of `loss`: the model, or an object that
        runs it. Its `trainable_variables` are trained.
      aside: Dict of name to trackable. Weights outside the model that are trained and saved in its checkpoints.
      init_layers: Tuple of int. Layers of the initial checkpoint that initialize the model's layers. See
        `load_pretrained`.
    """

    model: object
    optimizer: object
    loss: object
    seed: int
    steps: int | None
    network: object = None
    aside: dict = dataclasses.field(default_factory=dict)
    init_layers: tuple[int, ...] = ()

    def __post_init__(self):
        if self.network is None:
            self.network = self.model


class Technique:
    """A change to how models are trained. Each method does nothing unless a subclass overrides it.

    A command has one object for all its runs. The rules of `run.techniques.settings` reject incompatible techniques.
    """

    def read(self, task, tokenizer):
        """Reads and checks the technique's own data, after the task has read its data. Writes nothing.

        Raises:
          InputError: If the technique cannot be used on this task.
        """

    @property
    def training_files(self):
        """Dict of setting to list of paths: files to train on instead of the task's. None for the task's."""
        return None

    def resume(self):
        """Returns a dict of JSON values that a resumed run must share, in addition to settings with `resume=`."""
        return {}

    def begin(self, task, folder):
        """Computes what training requires, after all checks. Writes its files to `folder`, the command's output_dir."""

    def build(self, build):
        """Changes a Build before anything is traced or restored."""

    def batches(self, dataset):
        """Returns the dataset of training batches with the technique's additional features."""
        return dataset

    def end(self):
        """Removes files that only the runs of the command needed, after the last of them."""

    def finish(self, build, folder, is_chief):
        """Restores a plain model after training or restoring, and reports. `is_chief`: Whether to write files."""
