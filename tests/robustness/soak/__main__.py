"""Kills jobs hundreds of times, sends hostile requests to a served model, and prints a table of the results.

    python -m tests.robustness.soak                                     full size, about an hour
    python -m tests.robustness.soak --share=0.05 --table=survived.md    a twentieth, with the table in a file

Jobs are killed at random times, half of them while they save, and restarted until they finish. Their files are compared
with those of undisturbed jobs, also at the time of each kill: see comparison.py. Standard error shows the progress.
`make test-all` does not include it.
"""

import argparse
import collections
import dataclasses
import pathlib
import random
import subprocess
import sys
import tempfile
import time

from tests import scripts
from tests.robustness import runner
from tests.robustness.soak import variants
from tests.robustness.soak.disturbing import HEADER, Disturber, Tally

SECONDS = 600  # Duration of the requests.
SERVED = "served model"


def serve(folder, seconds):
    """Sends requests to a served model; returns whether all is well, and a line of results."""
    done = subprocess.run([sys.executable, "-m", "tests.robustness.soak.served", str(folder), str(seconds)],
                          cwd=scripts.ROOT, check=False, capture_output=True, text=True)
    return done.returncode == 0, (done.stdout + done.stderr[-3000:] * bool(done.returncode)).strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="Fraction of the full size.")
    parser.add_argument("--seed", type=int, default=1, help="Seed of the times at which jobs are killed.")
    parser.add_argument("--only", choices=[*variants.KINDS, SERVED], action="append", help="Kind of jobs to include.")
    parser.add_argument("--variant", help="Name of the only variant to include.")
    parser.add_argument("--table", type=pathlib.Path, help="File to write the table to.")
    settings = parser.parse_args()
    planned = {(kind, name): number for kind in variants.KINDS if settings.only is None or kind in settings.only
               for name, number in variants.plan_kills(kind, settings.share).items()
               if settings.variant in (None, name)}
    failures, start, total, lines = 0, time.monotonic(), collections.Counter(), []

    def add(line):
        """Prints a line of the table, and writes the table to its file."""
        print(line, flush=True)
        lines.append(line)
        if settings.table:
            settings.table.write_text("\n".join([*lines, ""]), encoding="utf-8")

    def minutes():
        return (time.monotonic() - start) / 60

    add(f"| | {' | '.join(HEADER)} |")
    add("| --- " * (1 + len(HEADER)) + "|")
    with tempfile.TemporaryDirectory() as above:
        folder, temporary = runner.make_folders(pathlib.Path(above))
        variants.prepare(folder)
        for (kind, name), number in planned.items():
            def say(text, name=f"{kind}, {name}"):
                print(f"{minutes():6.1f} min, {total['kills']} of {sum(planned.values())} kills: {name}: {text}",
                      file=sys.stderr, flush=True)

            tally = Disturber(folder, temporary, random.Random(f"{settings.seed} {kind} {name}"), say,
                              *variants.KINDS[kind][1][name]).run(number)
            failures += tally.failures
            total.update(dataclasses.asdict(tally))
            add(f"| {kind}, {name} | {tally} |")
        add(f"| all | {Tally(**total)} |\n")
        if settings.only is None or SERVED in settings.only:
            is_well, line = serve(folder / "served" / "1", max(5, SECONDS * settings.share))
            failures += not is_well
            add(line)
    add(f"{minutes():.0f} minutes; {failures} failures")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
