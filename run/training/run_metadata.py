"""What a training run was started with, kept as `run.json` beside its checkpoints: a run goes on with the same."""

import hashlib
import json
import os

from bert_tf.errors import InputError
from bert_tf.files import is_remote, new_file
from run.settings import flags as driver_flags

RUN_FILE = "run.json"


def keep(output_dir, values):
    """Writes `values` into `output_dir`, or compares them with those of the run that is there.

    Args:
      output_dir: of the run.
      values: dict of flag name -> what must stay as it is, as JSON can hold it.

    Raises:
      InputError: a run with another value is there; the flag, both values and what to do are named.
    """
    path = os.path.join(output_dir, RUN_FILE)
    if driver_flags.holds_run(output_dir) and os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            there = json.load(file)
        for name, value in values.items():
            if name in there and there[name] != value:
                raise InputError(f"`output_dir`={output_dir}: holds a run with `{name}` {_shown(there[name])}, not "
                                 f"{_shown(value)}; choose another folder for another run")
        return
    with new_file(path) as file:
        json.dump(values, file, indent=2)
        file.write("\n")


def fingerprint(paths):
    """Dict that tells files from others by their number, their names without folder, and their sizes in bytes."""
    sizes = [_size(path) for path in paths]
    names = [[os.path.basename(path), size] for path, size in zip(paths, sizes, strict=True)]
    return {"files": len(paths), "bytes": sum(sizes), "sha256": hashlib.sha256(json.dumps(names).encode()).hexdigest()}


def _size(path):
    if is_remote(path):
        import tensorflow as tf

        return tf.io.gfile.stat(path).length
    return os.path.getsize(path)


def _shown(value):
    if isinstance(value, dict):
        return f"of {value['bytes']:,} bytes ({value['files']} files, {value['sha256'][:8]})"
    return value
