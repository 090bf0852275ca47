"""`python -m tests.guards record|compare|reference`: see the package's docstring. Results are compared bit by bit."""

import argparse
import csv
import pathlib
import re
import sys
import tempfile

import numpy as np

from tests.guards import cases, checkpoints, reference, toy


def read_results(folder):
    """Reads a run's tensors, the columns of training_log.csv, and the object graph: dict of name to array."""
    found = checkpoints.read(folder)
    if (folder / "training_log.csv").exists():
        with open(folder / "training_log.csv", newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        found |= {f"training_log/{name}": np.array([float(row[name] or "nan") for row in rows]) for name in rows[0]}
    return {"object_graph": np.array(checkpoints.list_variables(folder)), **found}


def record(directory, only=""):
    """Runs the cases whose names match, and writes NAME.npz for each."""
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        toy.write(folder)
        for name in filter(re.compile(only).search, cases.CASES):
            cases.run(name, folder)
            np.savez(directory / f"{name}.npz", **read_results(folder / name))
            print(f"{name}: recorded", flush=True)


def compare(before, after):
    """Prints a line per case of two directories. Returns whether all are equal."""
    differ = []
    for name in sorted({path.name for folder in (before, after) for path in folder.glob("*.npz")}):
        difference = find_difference(before / name, after / name)
        print(f"{name}: {difference or 'equal'}")
        differ += [name] if difference else []
    print(f"{len(differ)} differ: {', '.join(differ)}")
    return not differ


def find_difference(before, after):
    """Describes how two files of results differ. Returns "" if they do not."""
    if not (before.exists() and after.exists()):
        return "exists in only one directory"
    with np.load(before) as old, np.load(after) as new:
        old, new = dict(old), dict(new)
    if graph := sorted({*old["object_graph"]} ^ {*new["object_graph"]}):
        return "\n".join(["another object graph", *graph])
    if keys := sorted(old.keys() ^ new.keys()):
        return f"{', '.join(keys)}: in only one directory"
    differ = [key for key in old if old[key].dtype != new[key].dtype or old[key].tobytes() != new[key].tobytes()]
    if not differ:
        return ""
    key = differ[0]
    distance = abs(old[key] - new[key]).max() if np.issubdtype(old[key].dtype, np.floating) else "another value"
    return f"{len(differ)} of {len(old)} arrays; {key}: largest difference {distance}"


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.guards")
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("record")
    command.add_argument("directory", type=pathlib.Path)
    command.add_argument("--only", default="", help="regular expression for names of cases")
    command = commands.add_parser("compare")
    command.add_argument("before", type=pathlib.Path)
    command.add_argument("after", type=pathlib.Path)
    commands.add_parser("reference")
    options = vars(parser.parse_args())
    return {"record": record, "compare": compare, "reference": reference.write}[options.pop("command")](**options)


if __name__ == "__main__":
    sys.exit(main() is False)
