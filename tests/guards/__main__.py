"""The commands of the package, which its docstring describes.

    python -m tests.guards record|compare|reference

Results are compared bit by bit.
"""

import argparse
import csv
import pathlib
import re
import sys
import tempfile

import numpy as np

from tests.guards import cases, checkpoints, reference, toy


def read_results(folder):
    """Reads the results of a run: dict of name to array.

    These are its tensors, the columns of training_log.csv, and the object graph.
    """
    found = checkpoints.read(folder)
    if (folder / "training_log.csv").exists():
        with open(folder / "training_log.csv", newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        found |= {
            f"training_log/{name}": np.array([float(row[name] or "nan") for row in rows])
            for name in rows[0]
        }
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
    """Prints the arrays that differ for each case of two directories.

    Returns whether all are equal.
    """
    num_different = 0
    for name in sorted({path.name for folder in (before, after) for path in folder.glob("*.npz")}):
        old, new = (
            dict(np.load(folder / name)) if (folder / name).exists() else {}
            for folder in (before, after)
        )
        differ = sorted(old.keys() ^ new.keys())
        differ += [
            key
            for key in sorted(old.keys() & new.keys())
            if old[key].dtype != new[key].dtype or old[key].tobytes() != new[key].tobytes()
        ]
        print(
            f"{name}: {len(differ)} arrays differ: {', '.join(differ[:5])}"
            if differ
            else f"{name}: equal"
        )
        num_different += bool(differ)
    print(f"{num_different} cases differ")
    return not num_different


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
    return {"record": record, "compare": compare, "reference": reference.write}[
        options.pop("command")
    ](**options)


if __name__ == "__main__":
    sys.exit(main() is False)
