"""What a job has left in its folder, and in what it differs from what an undisturbed one left there.

Every file is compared byte for byte, and so are their names, with these exceptions:

- The file `checkpoint` has the time of each save: compared is which checkpoint is the newest, and that those which it
  names are those that lie there.
- TensorBoard's files have clock times in their names and events, and tell rates: compared are the other numbers by
  their steps. A killed run may have written some twice, which must be equal.
- A SavedModel has variables whose shared names TensorFlow ends with 32 digits drawn by chance, which are left out, and
  a fingerprint with such digits, which is only looked for.
- After SIGTERM, a checkpoint at another step takes a place among those that are kept, or stands beside them where they
  are fewer than may be kept: the others must be of those that an undisturbed run that keeps all has saved, and no more
  than are to be kept.
"""

import os
import re

import tensorflow as tf

UNFINISHED = ("_temp", ".partial", ".unfinished-", "checkpoint.tmp")
RATES = ("examples_per_second", "tokens_per_second", "model_flop_utilisation", "steps_per_second")
DRAWN_DIGITS = re.compile(rb"(?<=_)[0-9a-f]{32}")  # of a variable's shared name in a SavedModel
CHECKPOINT_FILE = re.compile(r"(.*ckpt-)(\d+)\.(?:index|data-00000-of-00001)")


def names_below(folder):
    return [os.path.relpath(os.path.join(parent, name), folder)
            for parent, folders, names in os.walk(folder) for name in (*folders, *names)]


def is_unfinished(path):
    return any(part in each for each in path.split(os.sep) for part in UNFINISHED)


def is_left_behind(path):
    """Whether a file must not be there once its job has come to its end."""
    return is_unfinished(path) or path.endswith(".lock")


def is_final(path):
    """Whether a file never changes once it has its name."""
    return path.endswith((".tfrecord", ".index", ".data-00000-of-00001", ".pb", ".tflite", ".npy")
                         ) and not is_unfinished(path)


def contents(folder):
    """dict of the paths below a folder -> what is compared of them: mostly the bytes.

    Of all TensorBoard files of a folder, "FOLDER/events" -> set of (tag, step, value).
    """
    found = {}
    for path in names_below(folder):
        whole = os.path.join(folder, path)
        try:
            if "events.out" in path:
                found.setdefault(os.path.join(os.path.dirname(path), "events"), set()).update(_events(whole))
            elif os.path.basename(path) == "checkpoint":
                found[path] = _state(whole)
            elif os.path.isfile(whole):
                with open(whole, "rb") as file:
                    found[path] = _compared(os.path.basename(path), file.read())
        except FileNotFoundError:  # removed by what a killed job leaves behind for a moment, its workers
            pass
    return found


def _compared(name, content):
    """What is compared of a file's bytes."""
    if name == "fingerprint.pb":
        return bool(content)
    return DRAWN_DIGITS.sub(b"", content) if name == "saved_model.pb" else content


def _state(path):
    """The newest checkpoint that the file `checkpoint` names; what it names and is not there."""
    state = tf.train.get_checkpoint_state(os.path.dirname(path))
    if state is None:
        return "damaged"
    missing = [name for name in state.all_model_checkpoint_paths if not tf.io.gfile.exists(f"{name}.index")]
    return os.path.basename(state.model_checkpoint_path), tuple(missing)


def _events(path):
    """Yields (tag, step, value) of a TensorBoard file up to where a killed run left it."""
    try:
        for record in tf.data.TFRecordDataset(path).as_numpy_iterator():
            event = tf.compat.v1.Event.FromString(record)
            for value in event.summary.value:
                if value.tag.rpartition("/")[2] not in RATES:
                    yield value.tag, event.step, value.tensor.SerializeToString()
    except tf.errors.DataLossError:  # its last event
        pass


def differences(after, whole, all_saved, by_sigterm):
    """Yields in what the end of a disturbed job is not that of an undisturbed one, a line each.

    Args:
      after: contents of the folder of a job that was killed and came to its end.
      whole: those of one that nobody disturbed.
      all_saved: those of another, which kept all checkpoints if the job saves any.
      by_sigterm: whether SIGTERM was among what disturbed it.
    """
    for path in sorted(after.keys() | whole.keys()):
        if is_older(path, whole) or (path not in whole and CHECKPOINT_FILE.fullmatch(path)):
            continue
        if path not in after:
            yield f"{path}: is missing"
        elif path not in whole:
            yield f"{path}: is there too"
        elif after[path] != whole[path]:
            yield f"{path}: is another"
    kept, expected, saved = ({path for path in each if CHECKPOINT_FILE.fullmatch(path)}
                             for each in (after, whole, all_saved))
    on_one_side = sorted(kept ^ expected)
    is_right_number = len(kept) == len(expected) or (len(kept) > len(expected) == len(saved))  # none made room there
    may_be = by_sigterm and is_right_number and all(is_older(path, whole) for path in on_one_side)
    if on_one_side and not may_be:
        yield f"checkpoints: {', '.join(on_one_side)} on one side alone"
    for path in sorted(kept & all_saved.keys()):
        if after[path] != all_saved[path]:
            yield f"{path}: is another than when it was saved undisturbed"


def is_older(path, whole):
    """Whether a path is of a checkpoint that is not the newest of an undisturbed job."""
    found = CHECKPOINT_FILE.fullmatch(path)
    if not found:
        return False
    newest = max((int(each[2]) for each in map(CHECKPOINT_FILE.fullmatch, whole) if each and each[1] == found[1]),
                 default=-1)
    return int(found[2]) < newest


def half_written(now, all_saved):
    """Yields what, at the moment of a kill, lies under a final name and is not what an undisturbed job wrote there."""
    for path, content in now.items():
        if is_final(path) and path in all_saved and content != all_saved[path]:
            yield f"{path}: is half-written"
        elif os.path.basename(path) == "checkpoint" and content == "damaged":
            yield f"{path}: is damaged"


def unstable(whole, all_saved):
    """Yields in what two undisturbed jobs differ, of which nothing could then be said: there must be nothing."""
    for path in sorted(whole.keys() | all_saved.keys()):
        saved_in_all = path not in whole and CHECKPOINT_FILE.fullmatch(path)
        if not saved_in_all and whole.get(path) != all_saved.get(path):
            yield f"{path}: differs between undisturbed jobs"
