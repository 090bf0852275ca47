"""Digests of the results of each case, recorded in one tree and compared in another on the same machine."""

import csv
import json
import pathlib
import re
import tempfile

import numpy as np

from tests.guards import cases, checkpoints, toy


def read_results(folder):
    """Reads the tensors of a run's checkpoints and the columns of training_log.csv: dict of name to array."""
    found = checkpoints.read(folder)
    if (folder / "training_log.csv").exists():
        with open(folder / "training_log.csv", newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        found |= {f"training_log/{name}": np.array([float(row[name] or "nan") for row in rows]) for name in rows[0]}
    return dict(sorted(found.items()))


def run_all(names):
    """Runs cases. Yields for each its name, and its output directory or the text of the error."""
    with tempfile.TemporaryDirectory() as root:
        root = pathlib.Path(root)
        toy.write(root)
        for name in names:
            try:
                cases.run(name, root)
            except AssertionError as error:
                yield name, f"failed: {error}".strip()
            else:
                yield name, root / name


def record(path, only=""):
    """Writes digests and object graphs to a JSON file, and tensors to a directory next to it.

    Returns:
      Whether all cases succeeded.
    """
    recorded, is_complete = {}, True
    path.with_suffix(".tensors").mkdir(parents=True, exist_ok=True)
    for name, folder in run_all(filter(re.compile(only).search, cases.CASES)):
        if isinstance(folder, str):
            is_complete = False
            print(f"{name}: {folder}", flush=True)
            continue
        found = read_results(folder)
        recorded[name] = {"digest": checkpoints.digest(found), "object_graph": checkpoints.list_variables(folder)}
        np.savez(get_tensors_path(path, name), **{key.replace("/", "|"): value for key, value in found.items()})
        print(f"{name}: {recorded[name]['digest'][:16]}", flush=True)
    path.write_text(json.dumps(recorded, indent=1) + "\n")
    return is_complete


def get_tensors_path(path, name):
    """Returns the path of a case's tensors. In the names in this file, "|" replaces "/"."""
    return path.with_suffix(".tensors") / f"{name}.npz"


def compare(path, only=""):
    """Prints a line per recorded case. Returns whether all are equal."""
    recorded = {name: case for name, case in json.loads(path.read_text()).items() if re.search(only, name)}
    differ = [name for name in recorded if name not in cases.CASES]
    for name in differ:
        print(f"{name}: no such case")
    for name, folder in run_all(name for name in recorded if name in cases.CASES):
        difference = folder if isinstance(folder, str) else find_difference(folder, path, recorded[name])
        print(f"{name}: {difference or 'equal'}", flush=True)
        differ += [name] if difference else []
    print(f"{len(recorded)} cases, {len(differ)} differ" + (f": {', '.join(differ)}" if differ else ""))
    return not differ


def find_difference(folder, path, recorded):
    """Describes how a run differs from the recorded one. Returns "" if it does not."""
    graph, expected = checkpoints.list_variables(folder), recorded["object_graph"]
    if graph != expected:
        lines = [*(f"- {line}" for line in expected if line not in graph),
                 *(f"+ {line}" for line in graph if line not in expected)]
        return "\n".join(["another object graph", *(lines or ["the same lines, reordered"])])
    found = read_results(folder)
    if checkpoints.digest(found) == recorded["digest"]:
        return ""
    with np.load(get_tensors_path(path, folder.name)) as arrays:
        before = {key.replace("|", "/"): arrays[key] for key in arrays.files}
    if before.keys() != found.keys():
        return f"other tensors: {sorted(before.keys() ^ found.keys())}"
    differ = [key for key in before if checkpoints.digest({key: before[key]}) != checkpoints.digest({key: found[key]})]
    return f"{len(differ)} of {len(before)} tensors; {differ[0]}: {describe(before[differ[0]], found[differ[0]])}"


def describe(before, after):
    """Describes the difference between two tensors."""
    if (before.shape, before.dtype) != (after.shape, after.dtype):
        return f"{before.dtype}{list(before.shape)} is now {after.dtype}{list(after.shape)}"
    if not np.issubdtype(before.dtype, np.number):
        return "other values"
    distance = np.max(np.abs(before.astype(np.float64) - after.astype(np.float64)))
    return f"maximum difference {distance:.3g}, of values up to {np.max(np.abs(before.astype(np.float64))):.3g}"
