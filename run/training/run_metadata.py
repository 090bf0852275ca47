"""What lies beside the checkpoints of a run: config, vocabulary, and `run.json`, what it was started with.

A run is resumed with the same, but for `changeable_settings`. All is checked, of every folder, before anything is
written.
"""

import dataclasses
import hashlib
import json
import os
import re

from bert_tf import files
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.files import is_remote, new_file, read_bytes, read_json_object
from bert_tf.model_folder.configs import ORIGINAL_NAME as CONFIG_FILE
from bert_tf.model_folder.tokenizers import VOCABULARY_NAME as VOCAB_FILE

RUN_FILE = "run.json"
TRIAL_FILE = "trial.json"  # of a trial of a search: what it came to
CHANGEABLE = "changeable"  # of RUN_FILE: the settings that may be others in a resumed run
WHOLE_BYTES = 1 << 26  # files of up to so many bytes together are compared whole
SAMPLE_BLOCKS, BLOCK_BYTES = 16, 1 << 16  # of each of more, so many blocks, spread evenly
OF_A_RUN = re.compile(r"ckpt-\d+\.index")  # what a run may leave of its weights that was killed before it had any
WEIGHTS = re.compile(r"checkpoint|.*\.(index|safetensors|safetensors\.index\.json|bin)")


def holds_run(folder):
    """Whether a folder holds checkpoints of a run, or what a trial of a search came to."""
    return any(files.exists(os.path.join(folder, name)) for name in ("checkpoint", TRIAL_FILE))


def began(output_dir):
    """Whether a run was begun in a folder, if only so far that it has no checkpoint yet."""
    return files.exists(os.path.join(output_dir, RUN_FILE))


def check_place(output_dir, config, vocab_file=None):
    """Raises InputError if training in a folder would spoil a model there that is no run's of these scripts.

    Args:
      output_dir: of the run to be started or resumed; it need not be there.
      config, vocab_file: as `check`'s.
    """
    has_begun = began(output_dir)
    if not files.is_dir(output_dir) or (has_begun and holds_run(output_dir)):
        return
    names = files.names_in(output_dir)
    weights = next((name for name in names if WEIGHTS.fullmatch(name)
                    and not (has_begun and OF_A_RUN.fullmatch(name))), None)
    if weights:
        raise InputError(f"`output_dir`={output_dir}: holds a model, {weights}, that no run of these scripts left "
                         "there; choose another folder")
    kept = {CONFIG_FILE: config.to_json().encode()} | ({VOCAB_FILE: read_bytes(vocab_file)} if vocab_file else {})
    for name, content in () if has_begun else kept.items():
        if name in names and read_bytes(os.path.join(output_dir, name)) != content:
            raise InputError(f"`output_dir`={output_dir}: holds another {name}, which would be replaced; choose "
                             "another folder")


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
    check_started_with(output_dir, os.path.join(output_dir, RUN_FILE), started_with)


def check_started_with(output_dir, path, started_with):
    """Raises InputError where what the file `path` in output_dir holds, if it is there, is not what is given; dicts."""
    there = read_json_object(path) if files.exists(path) else {}
    started_with = json.loads(json.dumps(started_with))  # JSON has lists
    for name, value in started_with.items():
        if name in there and _differs(there[name], value):
            old, new = _shown(there[name]), _shown(value)
            other = f"not {new}" if old != new else "and they have other names or another order now"
            raise InputError(f"`output_dir`={output_dir}: holds a run with `{name}` {old}, {other}; choose another "
                             "folder for another run")


def changeable_settings(optimizer, step, others):
    """What `changes` compares: dict of setting -> value.

    Args:
      optimizer: OptimizerSettings; which optimizer it is may not change.
      step: StepSettings, of which the precision counts: the others do not change the result.
      others: dict of further settings and their values.
    """
    of_optimizer = {name: value for name, value in dataclasses.asdict(optimizer).items() if name != "optimizer"}
    return {**of_optimizer, "mixed_precision": step.mixed_precision, **others}


def changes(output_dir, now):
    """What a run that is resumed has otherwise than it was started with, in words; None if nothing is known to be.

    Args:
      output_dir: of the run; one that holds none is not resumed.
      now: dict of `changeable_settings`.
    """
    path = os.path.join(output_dir, RUN_FILE)
    if not (holds_run(output_dir) and files.exists(path)):
        return None
    before, now = read_json_object(path).get(CHANGEABLE, {}), json.loads(json.dumps(now))  # JSON has lists
    if not isinstance(before, dict):
        raise InputError(f"{path}: {CHANGEABLE} is {before!r:.60}: it must be an object")
    found = [f"`{name}` {_shown(value)} (was {_shown(before[name])})" for name, value in now.items()
             if name in before and before[name] != value]
    return f"goes on with other settings than it was started with: {', '.join(found)}" if found else None


def keep(output_dir, config, started_with, vocab_file=None, changeable=None):
    """Writes what `check` and `changes` compare into `output_dir`, made if missing, but for what a run there has.

    An empty `started_with` is not kept.
    """
    files.make_dirs(output_dir)
    texts = {CONFIG_FILE: config.to_json()}
    if started_with:
        kept = {**started_with, **({CHANGEABLE: changeable} if changeable else {})}
        texts[RUN_FILE] = json.dumps(kept, indent=2) + "\n"
    for name, text in texts.items():
        path = os.path.join(output_dir, name)
        if not (holds_run(output_dir) and files.exists(path)):
            with new_file(path) as file:
                file.write(text)
    path = os.path.join(output_dir, VOCAB_FILE)
    if vocab_file and not (files.exists(path) and _same_bytes(path, vocab_file)):
        with new_file(path, "wb") as file:
            file.write(read_bytes(vocab_file))


def fingerprint(paths, whole=False):
    """Dict that tells files from others: by number, names without folder, sizes in bytes, and contents.

    Contents are read whole up to WHOLE_BYTES; of more, a sample of each file's blocks. Of remote files, where each
    block costs a request that brings megabytes, the sample is the first block of SAMPLE_BLOCKS files. With `whole` no
    sample is taken.
    """
    sizes = [files.size(path) for path in paths]
    names = [[os.path.basename(path), size] for path, size in zip(paths, sizes, strict=True)]
    told = {"files": len(paths), "bytes": sum(sizes), "sha256": hashlib.sha256(json.dumps(names).encode()).hexdigest()}
    is_sampled, are_remote = sum(sizes) > WHOLE_BYTES and not whole, any(map(is_remote, paths))
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
    if not files.exists(path):
        return
    there, now = BertConfig.from_json_file(path).to_dict(), config.to_dict()
    for name in now | there:
        if there.get(name) != now.get(name):
            raise InputError(f"`output_dir`={output_dir}: holds the run of another model, with {name} "
                             f"{there.get(name)}, and `bert_config_file` says {now.get(name)}; choose another folder")


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
    return ",".join(map(str, value)) if isinstance(value, list) else value
