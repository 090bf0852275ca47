"""What lies beside the checkpoints of a run: config, vocabulary, and `run.json`, what it was started with.

A run is resumed with the same. All is checked, of every folder, before anything is written.
"""

import hashlib
import json
import os

from bert_tf import files
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.files import is_remote, new_file, read_bytes, read_json_object

CONFIG_FILE, VOCAB_FILE, RUN_FILE = "bert_config.json", "vocab.txt", "run.json"
BEST_FOLDER = "best"
WHOLE_BYTES = 1 << 26  # files of up to so many bytes together are compared whole
SAMPLE_BLOCKS, BLOCK_BYTES = 16, 1 << 16  # of each of more, so many blocks, spread evenly


def holds_run(folder):
    """Whether a folder holds checkpoints of a run."""
    return files.exists(os.path.join(folder, "checkpoint"))


def folders_of(checkpoint):
    """The folders where the files of a checkpoint, a folder or a prefix, may lie: its own, and of best/ the run's."""
    folder = checkpoint if files.is_dir(checkpoint) else os.path.dirname(checkpoint)
    folder = folder.rstrip("/") if is_remote(folder) else os.path.abspath(folder)
    return [folder, os.path.dirname(folder)] if os.path.basename(folder) == BEST_FOLDER else [folder]


def check(output_dir, config, started_with, vocab_file=None):
    """Compares what a run is to be started or resumed with to what the run in `output_dir`, if there is one, has.

    Args:
      output_dir: of the run.
      config: BertConfig.
      started_with: dict of setting -> what must stay as it is, as JSON can hold it.
      vocab_file: path of the vocabulary, None if none is kept.

    Raises:
      InputError: the run there is of another model, has another vocabulary, or was started with another value; or its
        files cannot be read.
    """
    if not holds_run(output_dir):
        return
    _check_config(output_dir, config)
    _check_vocabulary(output_dir, vocab_file)
    path = os.path.join(output_dir, RUN_FILE)
    there = read_json_object(path) if files.exists(path) else {}
    for name, value in started_with.items():
        if name in there and _differs(there[name], value):
            old, new = _shown(there[name]), _shown(value)
            other = f"not {new}" if old != new else "and they have other names or another order now"
            raise InputError(f"`output_dir`={output_dir}: holds a run with `{name}` {old}, {other}; choose another "
                             "folder for another run")


def keep(output_dir, config, started_with, vocab_file=None):
    """Writes what `check` compares into `output_dir`, made if missing, but for what a run there has; no empty dict."""
    files.make_dirs(output_dir)
    texts = {CONFIG_FILE: config.to_json()}
    if started_with:
        texts[RUN_FILE] = json.dumps(started_with, indent=2) + "\n"
    for name, text in texts.items():
        path = os.path.join(output_dir, name)
        if not (holds_run(output_dir) and files.exists(path)):
            with new_file(path) as file:
                file.write(text)
    path = os.path.join(output_dir, VOCAB_FILE)
    if vocab_file and not (files.exists(path) and _same_bytes(path, vocab_file)):
        with new_file(path, "wb") as file:
            file.write(read_bytes(vocab_file))


def fingerprint(paths):
    """Dict that tells files from others: by number, names without folder, sizes in bytes, and contents.

    Contents are read whole up to WHOLE_BYTES; of more, a sample of each file's blocks. Of remote files, where each
    block costs a request that brings megabytes, the sample is the first block of SAMPLE_BLOCKS files.
    """
    sizes = [files.size(path) for path in paths]
    names = [[os.path.basename(path), size] for path, size in zip(paths, sizes, strict=True)]
    told = {"files": len(paths), "bytes": sum(sizes), "sha256": hashlib.sha256(json.dumps(names).encode()).hexdigest()}
    is_sampled, are_remote = sum(sizes) > WHOLE_BYTES, any(map(is_remote, paths))
    sized = list(zip(paths, sizes, strict=True))
    if is_sampled and are_remote:
        sized = [(path, min(size, BLOCK_BYTES)) for path, size in _spread(sized)]
    contents = hashlib.sha256()
    for path, size in sized:
        contents.update(_digest(path, size, is_sampled))
    return {**told, "remote_contents" if are_remote else "contents": contents.hexdigest()}


def _digest(path, size, is_sampled):
    """SHA-256 of the first `size` bytes of a file, or of blocks of them spread evenly."""
    digest = hashlib.sha256()
    with files.open_bytes(path) as file:
        starts = range(0, size, BLOCK_BYTES)
        if is_sampled and len(starts) > SAMPLE_BLOCKS:
            starts = [(size - BLOCK_BYTES) * number // (SAMPLE_BLOCKS - 1) for number in range(SAMPLE_BLOCKS)]
        for start in starts:
            file.seek(start)
            digest.update(file.read(BLOCK_BYTES))
    return digest.digest()


def _spread(items):
    """SAMPLE_BLOCKS of a list, evenly spread from the first to the last; all if they are no more."""
    if len(items) <= SAMPLE_BLOCKS:
        return items
    return [items[(len(items) - 1) * number // (SAMPLE_BLOCKS - 1)] for number in range(SAMPLE_BLOCKS)]


def _check_config(output_dir, config):
    path = os.path.join(output_dir, CONFIG_FILE)
    there = BertConfig.from_json_file(path).to_dict() if files.exists(path) else {}
    for name, value in config.to_dict().items():
        if name in there and there[name] != value:
            raise InputError(f"`output_dir`={output_dir}: holds the run of another model, with {name} {there[name]}, "
                             f"and `bert_config_file` says {value}; choose another folder")


def _check_vocabulary(output_dir, vocab_file):
    kept = os.path.join(output_dir, VOCAB_FILE)
    if vocab_file and files.exists(kept) and not _same_bytes(kept, vocab_file):
        raise InputError(f"`vocab_file`={vocab_file}: is not the vocabulary of the run in `output_dir`, {kept}")


def _same_bytes(first, second):
    return read_bytes(first) == read_bytes(second)


def _differs(old, new):
    """Whether two values differ; of fingerprints, in what both of them hold."""
    if isinstance(old, dict) and isinstance(new, dict):
        return any(old[name] != new[name] for name in old.keys() & new.keys())
    return old != new


def _shown(value):
    if isinstance(value, dict):
        which = str(value.get("contents") or value.get("remote_contents") or value.get("sha256"))
        return f"of {value.get('bytes')} bytes ({value.get('files')} files, {which[:8]})"
    return value
