"""Checkpoints of a training run: those it resumes from, and the best weights by evaluation."""

import contextlib
import os
import re

import tensorflow as tf

from bert_tf import files, optimization
from bert_tf.checkpoints.training_run import (
    BEST_FOLDER,
    RUN_NAME,
    STATE_FILE,
    create_state_error,
    find_latest_checkpoint,
    list_checkpoints,
)
from bert_tf.errors import InputError

# In the directory of a run with adapters: the weights that it trained, in PEFT's format.
ADAPTER_FOLDER = "adapter"
# Temporary names that TensorFlow uses.
TEMPORARY_NAMES = re.compile(r"ckpt-\d+_temp|checkpoint\.tmp[0-9a-f]{32}")


class CheckpointManager(tf.train.CheckpointManager):
    """Saves each step at most once, and recovers from a lost file `checkpoint`.

    A checkpoint is complete before the file `checkpoint` names it, so a run killed while saving
    resumes from the previous one. The next run removes its temporary files.

    Args:
      checkpoint, directory, **options: See `tf.train.CheckpointManager`.
      writes: bool. Whether to save. With several workers, one saves and all read.
      in_part: bool. If True, `checkpoint` may lack some of the saved values, which are then not
        restored.
    """

    def __init__(self, checkpoint, directory, *, writes=True, in_part=False, **options):
        check_state(directory)
        if writes:
            _remove_temporary_files(directory)
        super().__init__(checkpoint, directory, checkpoint_name=RUN_NAME, **options)
        self._recover_state()
        self._writes = writes
        self._in_part = in_part
        self._last_saved = None

    def _recover_state(self):
        """Finds the checkpoints by their names if the file `checkpoint` is missing.

        Raises:
          InputError: If the file names a checkpoint that does not exist, or that is not from these
            scripts.
        """
        latest = find_latest_checkpoint(self.directory, RUN_NAME)
        if latest and not os.path.basename(latest).startswith(f"{RUN_NAME}-"):
            raise InputError(
                f"{latest}: is not from a run of these scripts; choose another directory"
            )
        if self.latest_checkpoint is None and latest:
            self._latest_checkpoint = latest
            self._maybe_delete.update(
                dict.fromkeys(list_checkpoints(self.directory, RUN_NAME), 0.0)
            )
        elif latest != self.latest_checkpoint:
            raise InputError(
                f"{os.path.join(self.directory, STATE_FILE)}: names "
                f"{os.path.basename(self.latest_checkpoint)}, which does not exist; delete the "
                "file to resume from an earlier checkpoint, or choose another directory"
            )

    def restore_or_initialize(self):
        """See the base class.

        Raises InputError if the files of the checkpoint are damaged or missing.
        """
        try:
            if self._in_part and self.latest_checkpoint:
                self.checkpoint.restore(self.latest_checkpoint).expect_partial()
                return self.latest_checkpoint
            return super().restore_or_initialize()
        # TensorFlow raises IndexError if a file is too short.
        except (IndexError, tf.errors.OpError) as error:
            if not self.latest_checkpoint:
                raise
            raise InputError(
                f"{self.latest_checkpoint}: its files are corrupted or missing; to resume from an "
                "earlier checkpoint, set model_checkpoint_path in "
                f"{os.path.join(self.directory, STATE_FILE)}"
            ) from error

    def must_save(self, step):
        """Returns whether this process writes checkpoints and has not saved this step yet."""
        return self._writes and step != self._last_saved

    def save(self, step):
        """Saves a checkpoint of a step, unless `must_save` is False."""
        if not self.must_save(step):
            return None
        self._last_saved = step
        # TensorFlow saves the number of saves with the weights. Here the number depends only on the
        # step, so that a resumed run has the same one.
        interval = self.checkpoint_interval or step
        self.checkpoint.save_counter.assign(max(0, -(-step // interval) - 1) if interval else 0)
        try:
            return super().save(step, check_interval=False)
        except BaseException:
            _remove_temporary_files(self.directory)  # After an error, they can fill the disk.
            raise


def check_state(directory):
    """Raises InputError if TensorFlow's file `checkpoint` is damaged, or names a path elsewhere.

    All paths must be in the directory of the file.
    TensorFlow later deletes all but the latest of the checkpoints that the file names.
    """
    path = os.path.join(directory, STATE_FILE)
    if not files.at(path).exists():
        return
    state = None
    with contextlib.suppress(ValueError):
        state = tf.train.get_checkpoint_state(directory)
    for each in (state.model_checkpoint_path, *state.all_model_checkpoint_paths) if state else ():
        if files.at(os.path.dirname(each)).absolute() != files.at(directory).absolute():
            raise InputError(f"{path}: lists {each}, which is not in its directory")
    if state is None:
        raise create_state_error(path)


def _remove_temporary_files(directory):
    """Removes the temporary files of a run that was killed while it saved a checkpoint."""
    for name in files.at(directory).names_if_dir():
        if TEMPORARY_NAMES.fullmatch(name):
            path = os.path.join(directory, name)
            with contextlib.suppress(OSError):
                files.at(path).remove_any()


class BestWeights:
    """The weights with the highest value of a metric.

    They are a checkpoint of only the weights in the directory best/ of a run. Weights of a later
    step than the one that a run resumes from remain, because the run reaches that step again.

    Args:
      output_dir: Path of the run's directory.
      model: Model to save.
      writes: bool. Whether to write files. With several workers, one writes.

    Attributes:
      step: Step of the saved weights, or None if there are none.
    """

    def __init__(self, output_dir, model, writes=True):
        self._folder = os.path.join(output_dir, BEST_FOLDER)
        self._model = model
        self._writes = writes
        self._manager = None
        check_state(self._folder)
        found = re.fullmatch(
            rf"{RUN_NAME}-(\d+)", os.path.basename(find_latest_checkpoint(self._folder) or "")
        )
        self.step = int(found[1]) if found else None

    def save(self, step):
        """Saves the model's weights, which replace the previous ones."""
        self.step = step
        if not self._writes:
            return
        files.at(self._folder).make_dirs()
        if self._manager is None:
            self._manager = CheckpointManager(
                tf.train.Checkpoint(model=self._model), self._folder, max_to_keep=1
            )
        self._manager.save(step)

    def restore(self):
        """Restores the saved weights; returns their step, or None if there are none."""
        if self.step is not None:
            checkpoint = tf.train.Checkpoint(model=self._model)
            checkpoint.restore(
                find_latest_checkpoint(self._folder)
            ).assert_existing_objects_matched()
        return self.step


def find_not_finite(variables):
    """Returns the name of the first of some variables with a number that is not finite, or None."""
    return next(
        (
            variable.name.removesuffix(":0")
            for variable in variables
            if not tf.reduce_all(tf.math.is_finite(variable.read_value()))
        ),
        None,
    )


def remove_checkpoints(folder):
    """Deletes the checkpoints of a run, including best/, and the files that refer to them."""
    names = files.at(folder).names_if_dir()
    if not names:
        return
    checkpoint_files = [name for name in names if name.startswith(f"{RUN_NAME}-")]
    indices = [f"{os.path.basename(prefix)}.index" for prefix in list_checkpoints(folder, RUN_NAME)]
    # If the deletion is killed, the directory contains the latest checkpoint of the run, or no run.
    in_order = [*indices[:-1], STATE_FILE, *indices[-1:], BEST_FOLDER]
    in_order += [name for name in checkpoint_files if name not in indices]
    in_order.append(ADAPTER_FOLDER)
    for name in in_order:
        path = os.path.join(folder, name)
        if name in names:
            files.at(path).remove_any()


def save_only_checkpoint(folder, model, step):
    """Saves a model's weights as the only checkpoint of a directory.

    The directory is like that of a run that has reached `step`. A run in that directory can
    evaluate and predict. It has no optimizer state to continue training.
    """
    remove_checkpoints(folder)
    counter = optimization.create_optimizer(0.0, 1, 0)
    counter.iterations.assign(step)
    manager = CheckpointManager(
        tf.train.Checkpoint(model=model, optimizer=counter), folder, max_to_keep=1
    )
    manager.save(step)
