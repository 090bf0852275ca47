"""Kills by the hundred, and a served model under fire: what was survived, as a table.

    python -m tests.robustness.soak                                     the whole size, about an hour
    python -m tests.robustness.soak --share=0.05 --table=survived.md    a twentieth of it, its table in a file too

Jobs are killed at random moments, half of them while they save, and started again until they end. Their ends are
compared with those of jobs that nobody disturbed, and so is what lies under a final name at the moment of a kill:
comparison.py tells how. A line on standard error tells of each job. It is no part of `make test`.
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
from tests.robustness.soak.disturbing import HEADER, Disturber, Tally
from tests.robustness.soak.variants import KINDS, kills_of, prepare

SECONDS = 600  # of the served model
SERVED = "served model"


class Table:
    """The table of what was survived: printed row by row, and written to a file, if any, as it grows."""

    def __init__(self, path):
        self._path, self._lines = path, []
        self.add("", " | ".join(HEADER))
        self.add("---", " | ".join(["---"] * len(HEADER)))

    def add(self, name, row):
        self._line(f"| {name} | {row} |")

    def close(self, *lines):
        """Ends it, with lines of text below."""
        self._line("")
        for each in lines:
            self._line(each)

    def _line(self, line):
        print(line, flush=True)
        self._lines.append(line)
        if self._path:
            pathlib.Path(self._path).write_text("\n".join([*self._lines, ""]), encoding="utf-8")


def serve(folder, seconds):
    """Lets callers ask the model of a folder; returns (whether all was well, the line that tells of it)."""
    done = subprocess.run([sys.executable, "-m", "tests.robustness.soak.served", str(folder), str(seconds)],
                          cwd=scripts.ROOT, check=False, capture_output=True, text=True)
    return done.returncode == 0, (done.stdout + done.stderr[-3000:] * bool(done.returncode)).strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="Share of the whole size.")
    parser.add_argument("--seed", type=int, default=1, help="Of the moments at which jobs are killed.")
    parser.add_argument("--only", choices=[*KINDS, SERVED], action="append", help="Leave out all others.")
    parser.add_argument("--variant", help="Leave out all variants but those of this name.")
    parser.add_argument("--table", help="File that the table is written to, too, as it grows.")
    settings = parser.parse_args()
    kinds = [kind for kind in KINDS if settings.only is None or kind in settings.only]
    planned = {(kind, name): number for kind in kinds for name, number in kills_of(kind, settings.share).items()
               if settings.variant in (None, name)}
    failures, start, total, done = 0, time.monotonic(), collections.Counter(), 0
    table = Table(settings.table)

    def say(text):
        """Prints a line of progress, with the kills of the variants that are done."""
        print(f"{(time.monotonic() - start) / 60:6.1f} min, {done} of {sum(planned.values())} kills: {text}",
              file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory() as above:
        folder, temporary = runner.make_folders(pathlib.Path(above))
        prepare(folder)
        for (kind, name), number in planned.items():
            disturber = Disturber(folder, temporary, random.Random(f"{settings.seed} {kind} {name}"),
                                  lambda text, name=f"{kind}, {name}": say(f"{name}: {text}"))
            tally = disturber.run(*KINDS[kind][1][name], number)
            done += number
            failures += tally.failures
            total.update(dataclasses.asdict(tally))
            table.add(f"{kind}, {name}", tally)
        table.add("all", Tally(**total))
        lines = []
        if settings.only is None or SERVED in settings.only:
            survived, line = serve(folder / "served" / "1", max(5, SECONDS * settings.share))
            failures += not survived
            lines = [line]
    table.close(*lines, f"{(time.monotonic() - start) / 60:.0f} minutes; "
                        + ("all was survived" if not failures else f"{failures} failures"))
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
