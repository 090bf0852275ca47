"""What a training run was started with, kept as `run.json` beside its checkpoints: a run is resumed with the same."""

import hashlib
import json
import os

import tensorflow as tf

from bert_tf.errors import InputError
from bert_tf.files import is_remote, new_file, read_json_object
from run.training.model_files import holds_run

RUN_FILE = "run.json"
WHOLE_BYTES = 1 << 26  # files of up to so many bytes together are compared whole
SAMPLE_BLOCKS, BLOCK_BYTES = 16, 1 << 16  # of each of more, so many blocks, spread evenly


def check(output_dir, values):
    """Compares `values` with those of the run that is there.

    Args:
      output_dir: of the run.
      values: dict of flag name -> what must stay as it is, as JSON can hold it.

    Raises:
      InputError: a run with another value is there; the flag, both values and what to do are named. Or its run.json
        cannot be read.
    """
    path = os.path.join(output_dir, RUN_FILE)
    if not (holds_run(output_dir) and os.path.exists(path)):
        return
    there = read_json_object(path)
    for name, value in values.items():
        if name in there and _differs(there[name], value):
            raise InputError(f"`output_dir`={output_dir}: holds a run with `{name}` {_shown(there[name])}, not "
                             f"{_shown(value)}; choose another folder for another run")


def keep(output_dir, values):
    """Writes `values` into `output_dir`, unless a run there has its own; `check` comes before."""
    path = os.path.join(output_dir, RUN_FILE)
    if holds_run(output_dir) and os.path.exists(path):
        return
    with new_file(path) as file:
        json.dump(values, file, indent=2)
        file.write("\n")


def fingerprint(paths):
    """Dict that tells files from others: by number, names without folder, sizes in bytes, and contents.

    Contents are read whole up to WHOLE_BYTES; of more, and of remote files, a sample of each file's blocks.
    """
    sizes = [_size(path) for path in paths]
    names = [[os.path.basename(path), size] for path, size in zip(paths, sizes, strict=True)]
    is_sampled = sum(sizes) > WHOLE_BYTES or any(map(is_remote, paths))
    contents = hashlib.sha256()
    for path, size in zip(paths, sizes, strict=True):
        contents.update(_digest(path, size, is_sampled))
    return {"files": len(paths), "bytes": sum(sizes), "sha256": hashlib.sha256(json.dumps(names).encode()).hexdigest(),
            "contents": contents.hexdigest()}


def _digest(path, size, is_sampled):
    """SHA-256 of a file, or of blocks of it spread evenly from its beginning to its end."""
    digest = hashlib.sha256()
    with tf.io.gfile.GFile(path, "rb") if is_remote(path) else open(path, "rb") as file:
        starts = range(0, size, BLOCK_BYTES)
        if is_sampled and len(starts) > SAMPLE_BLOCKS:
            starts = [(size - BLOCK_BYTES) * number // (SAMPLE_BLOCKS - 1) for number in range(SAMPLE_BLOCKS)]
        for start in starts:
            file.seek(start)
            digest.update(file.read(BLOCK_BYTES))
    return digest.digest()


def _size(path):
    return tf.io.gfile.stat(path).length if is_remote(path) else os.path.getsize(path)


def _differs(old, new):
    """Whether two values differ; of fingerprints, in what both of them hold."""
    if isinstance(old, dict) and isinstance(new, dict):
        return any(old[name] != new[name] for name in old.keys() & new.keys())
    return old != new


def _shown(value):
    if isinstance(value, dict):
        which = value.get("contents", value["sha256"])
        return f"of {value['bytes']:,} bytes ({value['files']} files, {which[:8]})"
    return value
