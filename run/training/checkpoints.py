"""The checkpoints of a training run: those it resumes from, and the best weights by evaluation."""

import contextlib
import json
import os
import re

import tensorflow as tf

from bert_tf import files, optimization
from bert_tf.errors import InputError
from bert_tf.files import new_file, read_json_object
from bert_tf.model_folder import BEST_FOLDER

BEST_FILE = "best.json"
ADAPTER_FILE = "adapter.safetensors"  # of a run with adapters: what it trained, at its end
UNFINISHED = re.compile(r"ckpt-\d+_temp|checkpoint\.tmp[0-9a-f]{32}")  # names that TensorFlow writes under


class CheckpointManager(tf.train.CheckpointManager):
    """Saves at the multiples of its interval, where TensorFlow's own counts from the step it first saved at.

    A checkpoint is whole before the file `checkpoint` names it, so a run killed while saving resumes from the one
    before; what it left under a temporary name is removed when the next one starts.

    Args:
      checkpoint, directory, **options: tf.train.CheckpointManager's.
      writes: whether it saves; of several workers, one does, and all read.
      saving: function without arguments that gives a context in which each checkpoint is written; or None.
      in_part: whether `checkpoint` may lack some of what is restored, which is then left out.
    """

    def __init__(self, checkpoint, directory, *, writes=True, saving=None, in_part=False, **options):
        check_state(directory)
        if writes:
            _remove_unfinished(directory)
        super().__init__(checkpoint, directory, **options)
        self._writes = writes
        self._in_part = in_part
        self._saving = saving or contextlib.nullcontext
        self._last_saved = None

    def restore_or_initialize(self):
        """See the base class; InputError for a checkpoint whose files are damaged or gone."""
        try:
            if self._in_part and self.latest_checkpoint:
                self.checkpoint.restore(self.latest_checkpoint).expect_partial()
                return self.latest_checkpoint
            return super().restore_or_initialize()
        except (IndexError, tf.errors.OpError) as error:  # IndexError is TensorFlow's for a file that is too short
            if not self.latest_checkpoint:
                raise
            raise InputError(f"{self.latest_checkpoint}: its files are damaged or gone; to go on from an earlier "
                             f"checkpoint, name that as model_checkpoint_path in the file "
                             f"{os.path.join(self.directory, 'checkpoint')}") from error

    def save(self, checkpoint_number=None, check_interval=True, options=None):
        """Saves a checkpoint, unless this step has one; with `check_interval`, only at a multiple of the interval."""
        due = not check_interval or checkpoint_number % self.checkpoint_interval == 0
        if not (due and self._writes) or checkpoint_number == self._last_saved:
            return None
        self._last_saved = checkpoint_number
        with self._saving():
            # TensorFlow counts how often it has saved, and keeps the count with the weights. That of the run that saves
            # at the multiples of its interval alone is a function of the step: a run that was stopped has it too.
            interval = self.checkpoint_interval or checkpoint_number
            self.checkpoint.save_counter.assign(max(0, -(-checkpoint_number // interval) - 1) if interval else 0)
            return super().save(checkpoint_number, check_interval=False, options=options)


def check_state(directory):
    """Raises InputError if the file by which TensorFlow knows a folder's checkpoints is damaged, or leads out of it.

    Of the checkpoints that it names all but the newest are removed in time.
    """
    path = os.path.join(directory, "checkpoint")
    if not files.exists(path):
        return
    state = None
    with contextlib.suppress(UnicodeDecodeError):
        state = tf.train.get_checkpoint_state(directory)
    for each in (state.model_checkpoint_path, *state.all_model_checkpoint_paths) if state else ():
        if files.absolute(os.path.dirname(each)) != files.absolute(directory):
            raise InputError(f"{path}: names {each}, which is not in its folder")
    if state is None:
        raise InputError(f"{path}: is damaged: it must name the newest checkpoint, as model_checkpoint_path: "
                         '"ckpt-1000"')


def _remove_unfinished(directory):
    """Removes what a run that was killed while it saved a checkpoint left under temporary names."""
    for name in files.names_in(directory) if files.is_dir(directory) else ():
        if UNFINISHED.fullmatch(name):
            path = os.path.join(directory, name)
            with contextlib.suppress(OSError):
                (files.remove_tree if files.is_dir(path) else files.remove)(path)


class BestWeights:
    """The weights with the highest value of a metric, in the folder best/ of a run.

    The folder holds a checkpoint of weights alone, which `load_pretrained` reads, and best.json: its step, what the
    evaluation gave, and under "before" the same of the weights that it replaced. best.json is written first: where a
    run is killed between the two, the weights are still those of "before". "is_superseded" says that the run was then
    trained on without evaluations, and that its newest weights count.

    Args:
      output_dir: of the run.
      model: whose weights are kept.
      writes: whether files are written; of several workers, one does.

    Attributes:
      step: of the weights kept, None without any.
      metrics: dict of name -> float, what their evaluation gave; {} without any.
      is_superseded: whether the run was trained on without evaluations since.
    """

    def __init__(self, output_dir, model, writes=True):
        self._folder = os.path.join(output_dir, BEST_FOLDER)
        self._model = model
        self._writes = writes
        self._manager = None
        self.step, self.metrics, self.is_superseded = None, {}, False
        check_state(self._folder)
        latest = tf.train.latest_checkpoint(self._folder)
        if latest and files.exists(self._path):
            self.step, self.metrics, self.is_superseded = _read_best(self._path, os.path.basename(latest))

    def save(self, step, metrics):
        """Keeps the model's weights in place of those before."""
        before = {"step": self.step, "metrics": self.metrics}
        self.step, self.metrics, self.is_superseded = step, metrics, False
        if not self._writes:
            return
        files.make_dirs(self._folder)
        self._write({"step": step, "metrics": metrics, "before": before})
        if self._manager is None:
            self._manager = CheckpointManager(tf.train.Checkpoint(model=self._model), self._folder, max_to_keep=1)
        self._manager.save(step, check_interval=False)

    def supersede(self, is_superseded):
        """Notes whether the run is trained on without evaluations, so that the weights kept count no more."""
        if self.step is None or is_superseded == self.is_superseded:
            return
        self.is_superseded = is_superseded
        if self._writes:
            self._write({"step": self.step, "metrics": self.metrics, "is_superseded": is_superseded})

    def restore(self):
        """Gives the model the weights kept; returns their step, None where none are kept or they count no more."""
        if self.step is None or self.is_superseded:
            return None
        checkpoint = tf.train.Checkpoint(model=self._model)
        checkpoint.restore(tf.train.latest_checkpoint(self._folder)).assert_existing_objects_matched()
        return self.step

    def _write(self, values):
        with new_file(self._path) as file:
            json.dump(values, file, indent=2)
            file.write("\n")

    @property
    def _path(self):
        return os.path.join(self._folder, BEST_FILE)


def _read_best(path, checkpoint):
    """(step, metrics, is_superseded) that a best.json says of a checkpoint; InputError for one that says nothing."""
    kept = read_json_object(path)
    is_superseded = kept.get("is_superseded", False)
    for told in (kept, kept.get("before")):
        if not isinstance(told, dict) or type(told.get("step")) is not int or checkpoint != f"ckpt-{told['step']}":
            continue
        metrics = told.get("metrics")
        if isinstance(metrics, dict) and all(isinstance(value, int | float) for value in metrics.values()):
            return told["step"], metrics, bool(is_superseded)
    raise InputError(f"{path}: does not say what the weights of {checkpoint} beside it came to; remove the folder to "
                     "go on without them")


def remove(folder):
    """Removes the checkpoints of a run, those of best/ too, and all that says that there are some."""
    if not files.is_dir(folder):
        return
    names = files.names_in(folder)
    # First the file by which a run is known: what a killed removal leaves is of no run.
    for name in ("checkpoint", BEST_FOLDER, *sorted(name for name in names if name.startswith("ckpt-")), ADAPTER_FILE):
        path = os.path.join(folder, name)
        if name in names:
            (files.remove_tree if files.is_dir(path) else files.remove)(path)


def save_alone(folder, model, step):
    """Saves a model's weights as the only checkpoint of a folder, as of a run that has come to `step`.

    A run in that folder evaluates and predicts with them; it has no moments to train on with.
    """
    remove(folder)
    counter = optimization.create_optimizer(0.0, 1, 0)
    counter.iterations.assign(step)
    manager = CheckpointManager(tf.train.Checkpoint(model=model, optimizer=counter), folder, max_to_keep=1)
    manager.save(step, check_interval=False)
