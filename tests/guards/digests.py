"""Digests of the results of each case, recorded in one tree and compared in another on the same machine."""

import concurrent.futures
import csv
import json
import multiprocessing
import pathlib
import re
import tempfile

import numpy as np

from tests.guards import cases, checkpoints, model_graphs, operations, reference, toy

LOG = "training_log/"  # before the names of the columns


def results(folder):
    """Reads the numbers that a run wrote: dict of name to array.

    They are the tensors of its checkpoints and the columns of training_log.csv.
    """
    found = checkpoints.read(folder)
    if (folder / "training_log.csv").exists():
        with open(folder / "training_log.csv", newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        found |= {f"{LOG}{name}": np.array([float(row[name] or "nan") for row in rows]) for name in rows[0]}
    return dict(sorted(found.items()))


def chosen(only):
    return [name for name in cases.CASES if re.search(only, name)]


def run_all(names, jobs):
    """Runs cases. Yields for each its name, and its output directory or the text of the error."""
    with tempfile.TemporaryDirectory() as root:
        if jobs == 1:
            toy.write(pathlib.Path(root))
            for name in names:
                yield name, run_one(name, root)
            return
        context = multiprocessing.get_context("spawn")
        with concurrent.futures.ProcessPoolExecutor(jobs, context, _begin, (root,)) as pool:
            for name, result in zip(names, pool.map(_run_in_own, names), strict=True):
                yield name, result


def run_one(name, root):
    """Runs a case. Returns its output directory, or the text of the error."""
    root = pathlib.Path(root)
    try:
        cases.run(name, root)
    except AssertionError as error:
        return str(error)
    return root / name


def _begin(root):
    """Creates a directory for one process of a pool, since two processes may need the same case."""
    global own
    own = tempfile.mkdtemp(dir=root)
    toy.write(pathlib.Path(own))


def _run_in_own(name):
    return run_one(name, own)


def record(path, only="", jobs=1):
    """Writes digests and object graphs to a JSON file, and tensors to a directory next to it.

    Returns:
      Whether all cases succeeded.
    """
    path = pathlib.Path(path)
    tensors_folder(path).mkdir(parents=True, exist_ok=True)
    recorded = {}
    for name, folder in run_all(chosen(only), jobs):
        if isinstance(folder, str):
            print(f"{name}: FAILED: {folder.strip()}", flush=True)
            continue
        found = results(folder)
        recorded[name] = {"digest": checkpoints.digest_of_all(found), "object_graph": checkpoints.object_graphs(folder)}
        np.savez(tensors_folder(path) / f"{name}.npz", **{
            key.replace("/", "|"): value for key, value in found.items()})  # a "/" would create directories in the file
        print(f"{name}: {recorded[name]['digest'][:16]}", flush=True)
    path.write_text(json.dumps(recorded, indent=1) + "\n")
    return len(recorded) == len(chosen(only))


def tensors_folder(path):
    return path.with_name(f"{path.stem}_tensors")


def recorded_tensors(path, name):
    """Reads the tensors of a recorded case, as returned by `results`."""
    with np.load(tensors_folder(path) / f"{name}.npz") as arrays:
        return {key.replace("|", "/"): arrays[key] for key in arrays.files}


def compare(path, only="", jobs=1):
    """Prints a line per recorded case. Returns whether all are equal."""
    path = pathlib.Path(path)
    recorded = json.loads(path.read_text())
    names = [name for name in chosen(only) if name in recorded]
    differ = [name for name in recorded if re.search(only, name) and name not in cases.CASES]
    for name in differ:
        print(f"{name}: DIFFERS: no such case")
    for name, folder in run_all(names, jobs):
        difference = f"failed: {folder.strip()}" if isinstance(folder, str) else _difference(
            folder, path, recorded[name])
        print(f"{name}: DIFFERS: {difference}" if difference else f"{name}: equal", flush=True)
        if difference:
            differ.append(name)
    print(f"{len({*names, *differ})} cases, {len(differ)} differ" + (f": {', '.join(differ)}" if differ else ""))
    return not differ


def _difference(folder, path, recorded):
    """Describes how a run differs from the recorded one. Returns None if it does not."""
    graph = checkpoints.object_graphs(folder)
    if graph != recorded["object_graph"]:
        gone = [line for line in recorded["object_graph"] if line not in graph]
        new = [line for line in graph if line not in recorded["object_graph"]]
        return (f"object graph: {len(gone)} lines less, {len(new)} more; first without: {gone[:1]}, "
                f"first with: {new[:1]}")
    found = results(folder)
    if checkpoints.digest_of_all(found) == recorded["digest"]:
        return None
    before = recorded_tensors(path, folder.name)
    if before.keys() != found.keys():
        return f"tensors: {sorted(before.keys() ^ found.keys())}"
    differ = [key for key in before if checkpoints.digest(before[key]) != checkpoints.digest(found[key])]
    return f"{len(differ)} of {len(before)} tensors; {differ[0]}: {_distance(before[differ[0]], found[differ[0]])}"


def _distance(before, after):
    if (before.shape, before.dtype) != (after.shape, after.dtype):
        return f"{before.dtype}{list(before.shape)} is now {after.dtype}{list(after.shape)}"
    if not np.issubdtype(before.dtype, np.number):
        return "other values"
    distance = np.abs(before.astype(np.float64) - after.astype(np.float64))
    return f"max abs difference {np.max(distance):.3g}, of values up to {np.max(np.abs(before.astype(np.float64))):.3g}"


def check(only="", jobs=1):
    """Compares each case with tests/reference/guards, and prints a line per case. Returns whether all agree."""
    agree = True
    for name, folder in run_all(chosen(only), jobs):
        differences = [folder.strip()] if isinstance(folder, str) else [
            reference.graph_difference(name, checkpoints.object_graphs(folder)),
            reference.summary_difference(name, checkpoints.summary(checkpoints.read(folder)))]
        print("\n".join([f"{name}: {'DIFFERS' if any(differences) else 'agrees'}", *filter(None, differences)]),
              flush=True)
        agree = agree and not any(differences)
    with tempfile.TemporaryDirectory() as root:
        toy.write(pathlib.Path(root))
        for name, found in operations.all_of_them(pathlib.Path(root), only):
            difference = reference.operations_difference(name, found)
            print(f"{name}: {difference or 'no more operations'}", flush=True)
            agree = agree and not difference
    return agree


def write_reference(path):
    """Writes tests/reference/guards from a file that `record` wrote."""
    path = pathlib.Path(path)

    def tensors_of(name):
        return {key: value for key, value in recorded_tensors(path, name).items() if not key.startswith(LOG)}

    with tempfile.TemporaryDirectory() as root:
        toy.write(pathlib.Path(root))
        counts = dict(operations.all_of_them(pathlib.Path(root)))
    reference.write_from(path, tensors_of, {name: model_graphs.lines(name) for name in model_graphs.NAMES}, counts)
