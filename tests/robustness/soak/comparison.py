"""The files of a job, and how they differ from those of an undisturbed job.

All file names and bytes are compared, with these exceptions:

- The file `checkpoint` contains the time of each save. Its latest checkpoint is compared, and every checkpoint that it
  lists must exist.
- TensorBoard's files have clock times in their names and events, and contain rates. The other values are compared by
  step. A killed run may have written some of them twice, which must be equal.
- In a SavedModel, TensorFlow ends the shared names of variables with 32 random digits, which are ignored, and the
  fingerprint contains such digits, so it must only exist.
- After SIGTERM, there is a checkpoint at an additional step, which may displace an older one. The other checkpoints
  must equal those of an undisturbed run that keeps all, and their number must not exceed the maximum.
"""

import os
import re

import tensorflow as tf

UNFINISHED = ("_temp", ".partial", ".unfinished-", "checkpoint.tmp")
FINAL = (".tfrecord", ".index", ".data-00000-of-00001", ".pb", ".tflite", ".npy")  # Such files never change.
RATES = ("examples_per_second", "tokens_per_second", "model_flop_utilisation", "steps_per_second")
RANDOM_DIGITS = re.compile(rb"(?<=_)[0-9a-f]{32}")
CHECKPOINT_FILE = re.compile(r"(.*ckpt-)(\d+)\.(?:index|data-00000-of-00001)")


def list_paths(folder):
    """Returns the relative paths of all files and directories below a directory."""
    return [os.path.relpath(os.path.join(parent, name), folder)
            for parent, folders, names in os.walk(folder) for name in (*folders, *names)]


def is_unfinished(path):
    return any(part in each for each in path.split(os.sep) for part in UNFINISHED)


def is_left_behind(path):
    """Returns whether a file must not exist after its job has finished."""
    return is_unfinished(path) or path.endswith(".lock")


def read_contents(folder):
    """Returns a dict of path to comparable contents: bytes, or a set of (tag, step, value) for "FOLDER/events"."""
    found = {}
    for path in list_paths(folder):
        full, name = os.path.join(folder, path), os.path.basename(path)
        try:
            if "events.out" in path:
                found.setdefault(os.path.join(os.path.dirname(path), "events"), set()).update(_read_events(full))
            elif name == "checkpoint":
                found[path] = _read_state(full)
            elif os.path.isfile(full):
                with open(full, "rb") as file:
                    content = file.read()
                found[path] = RANDOM_DIGITS.sub(b"", content) if name == "saved_model.pb" else (
                    content if name != "fingerprint.pb" else bool(content))
        except FileNotFoundError:  # The workers of a killed job can delete files for a moment.
            pass
    return found


def _read_state(path):
    """Returns the latest checkpoint in the file `checkpoint`, and the listed checkpoints that do not exist."""
    state = tf.train.get_checkpoint_state(os.path.dirname(path))
    if state is None:
        return "damaged"
    missing = [name for name in state.all_model_checkpoint_paths if not tf.io.gfile.exists(f"{name}.index")]
    return os.path.basename(state.model_checkpoint_path), tuple(missing)


def _read_events(path):
    """Yields (tag, step, value) of a TensorBoard file, without a last event that a killed run did not finish."""
    try:
        for record in tf.data.TFRecordDataset(path).as_numpy_iterator():
            event = tf.compat.v1.Event.FromString(record)
            for value in event.summary.value:
                if value.tag.rpartition("/")[2] not in RATES:
                    yield value.tag, event.step, value.tensor.SerializeToString()
    except tf.errors.DataLossError:
        pass


def find_differences(after, undisturbed, all_saved, by_sigterm):
    """Yields the differences between a disturbed and an undisturbed job, a line each.

    Args:
      after: Contents of the directory of a job that was killed, and then finished.
      undisturbed: Contents of the directory of an undisturbed job.
      all_saved: Contents of the directory of an undisturbed job that keeps all checkpoints.
      by_sigterm: Whether the job was also stopped by SIGTERM.
    """
    for path in sorted(after.keys() | undisturbed.keys()):
        if is_older(path, undisturbed) or (path not in undisturbed and CHECKPOINT_FILE.fullmatch(path)):
            continue
        if path not in after or path not in undisturbed:
            yield f"{path}: is {'additional' if path in after else 'missing'}"
        elif after[path] != undisturbed[path]:
            yield f"{path}: is different"
    kept, expected, saved = ({path for path in each if CHECKPOINT_FILE.fullmatch(path)}
                             for each in (after, undisturbed, all_saved))
    # If fewer checkpoints were saved than may be kept, the one of SIGTERM displaces none.
    is_right_number = len(kept) == len(expected) or len(kept) > len(expected) == len(saved)
    moved = sorted(kept ^ expected)
    if moved and not (by_sigterm and is_right_number and all(is_older(path, undisturbed) for path in moved)):
        yield f"checkpoints: {', '.join(moved)}"
    for path in sorted(kept & all_saved.keys()):
        if after[path] != all_saved[path]:
            yield f"{path}: is different from when it was saved"


def is_older(path, undisturbed):
    """Returns whether a path belongs to a checkpoint other than the latest one of an undisturbed job."""
    found = CHECKPOINT_FILE.fullmatch(path)
    steps = [int(each[2]) for each in map(CHECKPOINT_FILE.fullmatch, undisturbed) if each and found
             and each[1] == found[1]]
    return bool(steps) and int(found[2]) < max(steps)


def find_half_written(now, all_saved):
    """Yields files that, when a job was killed, had their final name and not the final content."""
    for path, content in now.items():
        if path.endswith(FINAL) and not is_unfinished(path) and content != all_saved.get(path, content):
            yield f"{path}: is half-written"
        elif os.path.basename(path) == "checkpoint" and content == "damaged":
            yield f"{path}: is damaged"


def find_unstable(undisturbed, all_saved):
    """Yields differences between two undisturbed jobs. A comparison requires that there are none."""
    for path in sorted(undisturbed.keys() | all_saved.keys()):
        saved_in_all = path not in undisturbed and CHECKPOINT_FILE.fullmatch(path)
        if not saved_in_all and undisturbed.get(path) != all_saved.get(path):
            yield f"{path}: differs between undisturbed jobs"
