"""The manifest of an output: its inputs and settings, and its finished shards.

A JSON file next to the output. It lets an interrupted run resume, and prevents mixing shards of different settings.
Fields: "format"; "made_from", the result of `describe`; "shards", one item per shard: null until it is finished, then
its counts and its files, with the size, the SHA-256, and the SHA-256 of a sample of the bytes of each.

The workers of a cluster cannot update this file together. Each writes a note for a finished shard instead: a JSON file
with its index, its item of "shards", and the SHA-256 of "made_from". The driver adds the notes to the manifest.
"""

import dataclasses
import glob
import hashlib
import json
import os

from bert_tf import files
from bert_tf.cli import paths
from bert_tf.errors import InputError
from bert_tf.files import is_remote, new_file, read_json, read_json_object

SUFFIX = paths.MANIFEST_SUFFIX
FORMAT = 1
SAMPLE_BYTES = 1 << 16  # Per block of a sample.
READ_BYTES = 1 << 22


def describe(input_files, flags, vocab_file=None):
    """Describes the inputs of an output as a dict.

    Its keys are "flags", "vocabulary" (SHA-256), "vocab_file" (path), and "inputs" (path, size, time each).

    Args:
      input_files: List of paths, in order.
      flags: Dict of flag to value, for all flags that affect the output.
      vocab_file: Path of the vocabulary. If None, the result has no "vocabulary" and no "vocab_file".
    """
    vocabulary = {}
    if vocab_file:
        vocabulary = {"vocabulary": compute_digest(vocab_file), "vocab_file": files.at(vocab_file).absolute()}
    inputs = []
    for path in input_files:
        inputs.append({"path": path if is_remote(path) else os.path.realpath(path),
                       "bytes": files.at(path).size(), "modified_ns": files.at(path).modified_ns()})
    return {"flags": flags, **vocabulary, "inputs": inputs}


def _note_path(manifest_path, number):
    """Returns the path of a shard's note; its suffix keeps it out of patterns of records. `number`: int, or "*"."""
    return f"{manifest_path.removesuffix(SUFFIX)}.shard-{number}{SUFFIX}"


def write_note(manifest_path, made_from, shard, shard_files):
    """Writes the note of a finished shard.

    Args:
      manifest_path: Path of the manifest.
      made_from: Result of `describe`.
      shard: shards.Shard.
      shard_files: Paths of its files.
    """
    with new_file(_note_path(manifest_path, shard.index)) as file:
        json.dump({"made_from": _digest_json(made_from), "index": shard.index,
                   "shard": _create_entry(shard, shard_files)}, file)


def is_noted(manifest_path, made_from, number):
    """Returns whether a worker noted this shard in a run with these inputs and settings. See `write_note`."""
    path = _note_path(manifest_path, number)
    return files.at(path).exists() and read_json_object(path).get("made_from") == _digest_json(made_from)


class Manifest:
    """The manifest of one output, in memory and on disk. The file appears with the first finished shard.

    Attributes:
      path: Path of the JSON file.
      missing: List of int. Shards to create, as of reading the manifest.
      num_damaged: int. How many of them were finished, but have files that are missing or have another size.
      num_changed: int. How many of them have files of the same size with other bytes.
    """

    def __init__(self, path, kind, made_from, shard_files, verify=False):
        """Reads the file, if it exists.

        Args:
          path: Path of the JSON file.
          kind: shards.OutputKind.
          made_from: Result of `describe`.
          shard_files: List of the paths of each shard's files.
          verify: bool. Whether to compare all bytes of finished shards, not only their sizes and a sample.

        Raises:
          InputError: If the file is not a manifest, or is for an output with other inputs, settings, or shards.
        """
        self.path = path
        self._kind, self._shard_files = kind, shard_files
        self._content = {"format": FORMAT, "made_from": made_from, "shards": [None] * len(shard_files)}
        if files.at(path).exists():
            content = _read(path, kind)
            differences = _find_differences(content["made_from"], made_from, kind.later_defaults)
            if differences:
                raise InputError(f"{path}: does not match this run: {'; '.join(differences)}; choose another "
                                 f"`{kind.argument}`, or delete the output and its manifest to regenerate it")
            shards = content["shards"]
            if len(shards) != len(shard_files) or any(shard and len(shard["files"]) != len(file_paths)
                                                      for shard, file_paths in zip(shards, shard_files, strict=True)):
                raise InputError(f"{path}: does not match the shards of this run; delete it to regenerate all shards")
            self._content = content
        shards = self._content["shards"]
        self._notes = files.at(_note_path(glob.escape(path), "*")).matching()
        for note in map(read_json_object, self._notes):
            if note.get("made_from") == _digest_json(self._content["made_from"]):
                shards[note["index"]] = note["shard"]
        finished = [i for i, shard in enumerate(shards) if shard]
        damaged = [i for i in finished if not _has_sizes(shard_files[i], shards[i]["files"])]
        self.num_damaged = len(damaged)
        changed = [i for i in finished if i not in damaged
                   and _has_changed(shard_files[i], shards[i]["files"], "sha256" if verify else "sample")]
        self.num_changed = len(changed)
        for i in damaged + changed:
            shards[i] = None
        self.missing = [i for i, shard in enumerate(shards) if not shard]

    @property
    def has_notes(self):
        """Whether workers noted shards that the file lacks; see `collect_notes`."""
        return bool(self._notes)

    @property
    def counts(self):
        """Total ShardCounts of all finished shards."""
        finished = [shard["counts"] for shard in self._content["shards"] if shard]
        return sum(map(self._kind.counts.from_json, finished), self._kind.counts())

    def add(self, shard):
        """Adds a finished shards.Shard, and updates the file."""
        self._content["shards"][shard.index] = _create_entry(shard, self._shard_files[shard.index])
        self._write()

    def collect_notes(self):
        """Updates the file with the shards that were noted, and removes the notes. Call it under the output's lock."""
        if self._notes:
            self._write()
        for note in self._notes:
            files.at(note).remove()
        self._notes = []

    def _write(self):
        with new_file(self.path) as file:
            json.dump(self._content, file, indent=1)


def _create_entry(shard, shard_files):
    """Returns the item of a finished shards.Shard in a manifest; `shard_files`: paths of its files."""
    files = [{**file, "sample": _compute_sample_digest(path)}
             for path, file in zip(shard_files, shard.files, strict=True)]
    return {"files": files, "counts": dataclasses.asdict(shard.counts)}


def _digest_json(value):
    """Computes the SHA-256 of a JSON value."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _read(path, kind):
    content = read_json(path)
    if not _is_manifest(content, {field.name for field in dataclasses.fields(kind.counts)}):
        raise InputError(f"{path}: is not a manifest of format {FORMAT}")
    return content


def _is_manifest(content, count_names):
    """Returns whether a JSON value has the fields of a manifest, which a file edited by hand can lack."""
    def has(value, *fields):
        return isinstance(value, dict) and set(fields) == set(value)

    return (has(content, "format", "made_from", "shards") and content["format"] == FORMAT
            and isinstance(content["made_from"], dict)
            and has({"vocabulary": None, "vocab_file": None, **content["made_from"]}, "flags", "vocabulary",
                    "vocab_file", "inputs")
            and isinstance(content["made_from"]["flags"], dict) and isinstance(content["made_from"]["inputs"], list)
            and all(isinstance(file, dict) and isinstance(file.get("path"), str)
                    for file in content["made_from"]["inputs"])
            and isinstance(content["shards"], list)
            and all(shard is None or (has(shard, "files", "counts") and _is_shard_entry(count_names, **shard))
                    for shard in content["shards"]))


def _is_shard_entry(count_names, files, counts):
    """Returns whether the values of a manifest's shard have their types."""
    return (isinstance(files, list) and all(map(_is_file_entry, files))
            and isinstance(counts, dict) and counts.keys() <= count_names
            and all(type(count) is int for count in counts.values()))


def _is_file_entry(entry):
    """Returns whether a manifest's entry for a file is valid."""
    return (isinstance(entry, dict) and type(entry.get("bytes")) is int
            and all(isinstance(entry.get(kind, ""), str) for kind in _DIGESTS))


def _has_sizes(paths, entries):
    places = map(files.at, paths)
    return all(place.is_file() and place.size() == entry["bytes"]
               for place, entry in zip(places, entries, strict=True))


def _has_changed(paths, files, kind):
    """Returns whether a file changed, according to one of _DIGESTS; early manifests have no samples."""
    return any(kind in file and _DIGESTS[kind](path) != file[kind] for path, file in zip(paths, files, strict=True))


def _compute_sample_digest(path):
    """Computes the SHA-256 of blocks at the start, the middle, and the end of a file."""
    place = files.at(path)
    last = max(0, place.size() - SAMPLE_BYTES)
    digest = hashlib.sha256()
    with place.open() as file:
        for start in dict.fromkeys((0, last // 2, last)):
            file.seek(start)
            digest.update(file.read(SAMPLE_BYTES))
    return digest.hexdigest()


def compute_digest(path):
    """Computes the SHA-256 of a file."""
    digest = hashlib.sha256()
    with files.at(path).open() as file:
        while block := file.read(READ_BYTES):
            digest.update(block)
    return digest.hexdigest()


_DIGESTS = {"sha256": compute_digest, "sample": _compute_sample_digest}


def _find_differences(old, new, later_defaults):
    """Returns the differences between two results of `describe`, a list of str."""
    old_flags, new_flags = ({**later_defaults, **description["flags"]} for description in (old, new))
    differences = [f"`{name}` was {old_flags.get(name)}, now {new_flags.get(name)}"
                   for name in dict.fromkeys([*old_flags, *new_flags]) if old_flags.get(name) != new_flags.get(name)]
    if old.get("vocabulary") != new.get("vocabulary"):
        differences.append("`vocab_file` contains another vocabulary")
    old_inputs, new_inputs = ({file["path"]: file for file in description["inputs"]} for description in (old, new))
    changed = [path for path in dict.fromkeys([*old_inputs, *new_inputs])
               if old_inputs.get(path) != new_inputs.get(path)]
    if changed:
        path = changed[0]
        change = "is new" if path not in old_inputs else "was removed" if path not in new_inputs else "was changed"
        others = f", and {len(changed) - 1} more differ" if len(changed) > 1 else ""
        differences.append(f"input {path} {change}{others}")
    elif old["inputs"] != new["inputs"]:
        differences.append("the inputs are in another order")
    return differences
