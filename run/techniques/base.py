"""The contract of training techniques: what a run asks of each of them, and when."""

import dataclasses
from collections.abc import Callable


@dataclasses.dataclass
class Build:
    """A training run under construction, in the strategy's scope. Techniques change it in sequence.

    Attributes:
      model: Model of bert_tf.models.
      optimizer: Optimizer of bert_tf.optimization. Its `iterations` count the finished steps.
      loss: `bert_tf.losses.TotalLoss` of the network's outputs.
      seed: int. Seed of the run.
      steps: int. Step at which training ends; None if the model is only used.
      network: Callable that a training step runs, from features to what `loss` takes: the model, or an object that
        runs it. Its `trainable_variables` are trained.
      aside: Dict of name -> trackable. Weights outside the model that are trained and kept in its checkpoints.
      init_layers: Tuple of int. Layers of the initial checkpoint that the model's start as; see load_pretrained.
      flops: Function from the non-padding tokens of an example to the floating point operations of training on it;
        None if they are unknown.
    """

    model: object
    optimizer: object
    loss: object
    seed: int
    steps: int | None
    network: object = None
    aside: dict = dataclasses.field(default_factory=dict)
    init_layers: tuple[int, ...] = ()
    flops: Callable | None = None

    def __post_init__(self):
        if self.network is None:
            self.network = self.model


class Technique:
    """A change to how models are trained. Each method does nothing unless a subclass overrides it.

    A command has one object for all its runs. The rules of run.techniques.settings reject incompatible techniques.
    """

    def read(self, task, tokenizer):
        """Reads its own data, once the task has read its data, and checks them; writes nothing.

        Raises:
          InputError: If the technique cannot be used on this task.
        """

    @property
    def training_files(self):
        """Dict of setting -> list of paths: files that training reads instead of the task's; None for the task's."""
        return None

    def resume(self):
        """Returns a dict, JSON values: the values that a resumed run must share, apart from settings with `resume=`."""
        return {}

    def begin(self, task, folder):
        """Computes what training needs, after all checks. Files go to `folder`, the command's output_dir."""

    def build(self, build):
        """Changes a Build before anything is traced or restored."""

    def batches(self, dataset):
        """Returns the dataset of training batches with what the technique adds to their features."""
        return dataset

    def counts_from(self, steps):
        """Returns the first of `steps` steps whose weights may be kept in best/."""
        del steps
        return 0

    def end(self):
        """Removes files that only the runs of the command needed, after the last of them."""

    def finish(self, build, folder, is_chief):
        """Leaves a plain model, after training or restoring, and reports; is_chief: whether this process writes."""
