"""Jobs that are killed at random times and restarted until they finish."""

import collections
import os
import shutil
import signal
import time

from tests import scripts
from tests.robustness.commands import COMMANDS
from tests.robustness.soak import comparison

MAX_KILLS = 3  # Maximum per job.
LONGEST = 1800  # Seconds of a job, on a machine that others use too.
# Flag of an output -> name in the directory of a job.
NAMES = {"output_file": "out.tfrecord", "export_dir": "model"}
FAILURES = ("different", "half-written", "left behind")
COUNTED = ("jobs", "kills", "while saving", "by SIGTERM", *FAILURES)


class Disturber:
    """Disturbs jobs of one variant.

    Args:
      folder, temporary: pathlib.Path of a directory that `variants.prepare` filled, and one for
        temporary files.
      rng: random.Random.
      say: Function that prints a line of progress.
      command, flags: The variant: name in COMMANDS, and changed flags.

    Attributes:
      counts: Counter of COUNTED.
    """

    def __init__(self, folder, temporary, rng, say, command, flags):
        self._folder = folder
        self._temporary = temporary
        self._rng = rng
        self._say = say
        package, own = COMMANDS[command]
        self._module = f"{package}.{command}"
        self._flags = {**own, **flags}
        self._output = next(
            name for name in ("output_file", "output_dir", "export_dir") if name in self._flags
        )
        self.counts = collections.Counter()

    def run(self, num_kills):
        """Disturbs jobs until there were this many kills; returns the counts."""
        start = time.monotonic()
        self._undisturbed = self._run_undisturbed()
        self._seconds = time.monotonic() - start
        self._all_saved = self._run_undisturbed(
            **{"keep_checkpoint_max": 99} if "iterations_per_loop" in self._flags else {}
        )
        self._say(f"undisturbed: {self._seconds:.1f} s, {len(self._undisturbed)} files to compare")
        while self.counts["kills"] < num_kills:
            self._disturb(min(self._rng.randint(1, MAX_KILLS), num_kills - self.counts["kills"]))
        return self.counts

    def _report(self, kind, lines):
        for line in lines:
            self.counts[kind] += 1
            self._say(f"{kind}: {line}")

    def _run_undisturbed(self, **flags):
        folder = self._folder / "undisturbed"
        self._finish(folder, **flags)
        found = comparison.read_contents(folder)
        shutil.rmtree(folder)
        return found

    def _disturb(self, num_kills):
        """Kills one job this many times, lets it finish, and compares its files."""
        folder = self._folder / "broken"
        signals = []
        for _ in range(num_kills):
            number = self._kill(folder)
            if number is None:
                break
            signals.append(number)
            now = comparison.read_contents(folder)
            self._report("half-written", comparison.find_half_written(now, self._all_saved))
            if self._output == "export_dir" and self._undisturbed.keys() <= now.keys():
                break  # A restarted export would write another version.
        else:
            self._finish(folder)
        now = comparison.read_contents(folder)
        self._report("half-written", comparison.find_half_written(now, self._all_saved))
        self._report(
            "different",
            comparison.find_differences(now, self._undisturbed, signal.SIGTERM in signals),
        )
        self._report(
            "left behind",
            [
                path
                for path in comparison.list_paths(folder)
                if comparison.is_unfinished(path) or path.endswith(".lock")
            ],
        )
        self._report("left behind", os.listdir(self._temporary))
        self.counts["jobs"] += 1
        self._say(
            f"job {self.counts['jobs']}: {', '.join(each.name for each in signals) or 'not killed'}"
        )
        shutil.rmtree(folder)

    def _start(self, folder, **flags):
        folder.mkdir(exist_ok=True)
        output = os.path.join(folder.name, NAMES.get(self._output, "")).rstrip("/")
        command = scripts.command(self._module, **{**self._flags, self._output: output, **flags})
        return scripts.Process(command, self._folder, "", {"TMPDIR": str(self._temporary)})

    def _finish(self, folder, **flags):
        with self._start(folder, **flags) as process:
            _, errors = process.communicate(LONGEST)
            assert process.returncode == 0, errors[-3000:]

    def _kill(self, folder):
        """Starts a job and kills it; returns the signal, None if the job finished before."""
        until = time.monotonic() + self._rng.uniform(0.1, 1.0) * self._seconds
        waits_for_save = self._rng.random() < 0.5
        number = self._rng.choice([signal.SIGKILL] * 3 + [signal.SIGTERM])
        is_saving = False
        with self._start(folder) as process:
            while process.poll() is None and time.monotonic() < until and not is_saving:
                is_saving = (
                    waits_for_save
                    and time.monotonic() > until - 0.7 * self._seconds
                    and any(map(comparison.is_unfinished, comparison.list_paths(folder)))
                )
                time.sleep(0 if is_saving else 0.002)
            if process.poll() is not None:
                return None
            process.send_signal(number)
            process.wait(LONGEST)
        self.counts.update(
            {
                "kills": 1,
                "while saving": int(is_saving),
                "by SIGTERM": int(number == signal.SIGTERM),
            }
        )
        return number
