"""Kills jobs hundreds of times, and prints a table of the results.

The full size takes about an hour:

    python -m tests.robustness.soak

A twentieth of it, with the table in a file:

    python -m tests.robustness.soak --share=0.05 > survived.md

Jobs are killed at random times, half of them while they save, and restarted until they finish.
Their files are compared with those of undisturbed jobs, also at the time of each kill: see
comparison.py. Standard error shows the progress. `make test-all` kills each job once: see
test_soak.py.
"""

import argparse
import collections
import functools
import pathlib
import random
import sys
import tempfile

from tests.robustness.soak.disturbing import COUNTED, FAILURES, Disturber
from tests.robustness.soak.variants import KILLS, VARIANTS, prepare

SEED = 1  # Of the times at which jobs are killed.


def add_row(name, cells):
    print(f"| {name} | {' | '.join(map(str, cells))} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="Fraction of the full size.")
    num_kills = max(1, round(KILLS * parser.parse_args().share))
    total = collections.Counter()
    add_row("", COUNTED)
    add_row("---", ["---"] * len(COUNTED))
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as temporary:
        prepare(pathlib.Path(folder))
        for name, (command, flags) in VARIANTS.items():
            disturber = Disturber(
                pathlib.Path(folder),
                temporary,
                random.Random(f"{SEED} {name}"),
                functools.partial(print, f"{name}:", file=sys.stderr, flush=True),
                command,
                flags,
            )
            disturber.run(num_kills)
            total += disturber.counts
            add_row(name, (disturber.counts[each] for each in COUNTED))
    add_row("all", (total[each] for each in COUNTED))
    sys.exit(any(total[each] for each in FAILURES))


if __name__ == "__main__":
    main()
