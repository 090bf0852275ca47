"""The files of a job, and how they differ from those of an undisturbed job.

All file names and bytes are compared, with these exceptions:

- The file `checkpoint` contains the time of each save. Its latest checkpoint is compared, and every
  checkpoint that it lists must exist.
- TensorBoard's files have clock times in their names and events, and contain rates. The other
  values are compared by step. A killed run may have written some of them twice, which must be
  equal.
- In a SavedModel, TensorFlow ends the shared names of variables with 32 random digits, which are
  ignored, and the fingerprint contains such digits, so it must only exist.
- After SIGTERM, there is a checkpoint at an additional step, which may displace an older one. So of
  the older checkpoints only those at the usual steps are compared, with an undisturbed job that
  keeps all.
"""

import os
import re

import tensorflow as tf

UNFINISHED = ("_temp", ".partial", "checkpoint.tmp")
# Files with these suffixes never change.
FINAL = (".tfrecord", ".index", ".data-00000-of-00001", ".pb", ".tflite", ".npy")
RATES = ("examples_per_second", "tokens_per_second", "steps_per_second")
RANDOM_DIGITS = re.compile(rb"(?<=_)[0-9a-f]{32}")


def list_paths(folder):
    """Returns the relative paths of all files and directories below a directory."""
    return [
        os.path.relpath(os.path.join(parent, name), folder)
        for parent, folders, names in os.walk(folder)
        for name in (*folders, *names)
    ]


def is_unfinished(path):
    return any(part in each for each in path.split(os.sep) for part in UNFINISHED)


def read_contents(folder):
    """Returns a dict of path to comparable contents.

    Contents are bytes, or a set of (tag, step, value) for "FOLDER/events".
    """
    found = {}
    for path in list_paths(folder):
        full = os.path.join(folder, path)
        name = os.path.basename(path)
        try:
            if "events.out" in path:
                found.setdefault(os.path.join(os.path.dirname(path), "events"), set()).update(
                    _read_events(full)
                )
            elif name == "checkpoint":
                found[path] = _read_state(full)
            elif os.path.isfile(full):
                with open(full, "rb") as file:
                    content = file.read()
                if name == "saved_model.pb":
                    found[path] = RANDOM_DIGITS.sub(b"", content)
                elif name == "fingerprint.pb":
                    found[path] = bool(content)
                else:
                    found[path] = content
        except FileNotFoundError:  # The workers of a killed job can delete files for a moment.
            pass
    return found


def _read_state(path):
    """Returns the latest checkpoint in the file `checkpoint`, and the missing ones.

    The latter are listed checkpoints that do not exist.
    """
    state = tf.train.get_checkpoint_state(os.path.dirname(path))
    if state is None:
        return "damaged"
    missing = [
        name for name in state.all_model_checkpoint_paths if not tf.io.gfile.exists(f"{name}.index")
    ]
    return os.path.basename(state.model_checkpoint_path), tuple(missing)


def _read_events(path):
    """Yields (tag, step, value) of a TensorBoard file.

    A last event that a killed run did not finish is ignored.
    """
    try:
        for record in tf.data.TFRecordDataset(path).as_numpy_iterator():
            event = tf.compat.v1.Event.FromString(record)
            for value in event.summary.value:
                if value.tag.rpartition("/")[2] not in RATES:
                    yield value.tag, event.step, value.tensor.SerializeToString()
    except tf.errors.DataLossError:
        pass


def find_differences(after, undisturbed, ignores_older=False):
    """Yields the paths of different, missing, and additional files of a job.

    If `ignores_older`, all checkpoints but the latest one are ignored.
    """
    for path in sorted(after.keys() | undisturbed.keys()):
        if ignores_older and is_older(path, undisturbed):
            continue
        if path not in after or path not in undisturbed:
            yield f"{path}: is missing or additional"
        elif after[path] != undisturbed[path]:
            yield f"{path}: is different"


def is_older(path, contents):
    """Returns whether a path belongs to a checkpoint other than the latest one of its directory."""
    folder, name = os.path.split(path)
    state = contents.get(os.path.join(folder, "checkpoint"))
    return state is not None and name.startswith("ckpt-") and not name.startswith(f"{state[0]}.")


def find_half_written(now, all_saved):
    """Yields files that have their final name and not the final content.

    Args:
      now: Contents of the directory of a job when it was killed, or at its end.
      all_saved: Contents of the directory of an undisturbed job that keeps all checkpoints.
    """
    for path, content in now.items():
        if (
            path.endswith(FINAL)
            and not is_unfinished(path)
            and content != all_saved.get(path, content)
        ):
            yield f"{path}: is half-written"
        elif os.path.basename(path) == "checkpoint" and content == "damaged":
            yield f"{path}: is damaged"
