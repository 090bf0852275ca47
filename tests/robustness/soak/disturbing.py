"""Jobs that are killed at random moments and started again until they end."""

import dataclasses
import os
import shutil
import signal
import time

from tests import scripts
from tests.robustness.commands import COMMANDS
from tests.robustness.soak import comparison

MOST_KILLS = 3  # of one job, before it is let to its end
LONGEST = 1800  # seconds of a job, on a machine that others use too
# Of an output within the folder of a job; the requests in an export have the name of its folder.
NAMES = {"output_file": "out.tfrecord", "export_dir": "model"}
HEADER = ("jobs", "kills", "while saving", "by SIGTERM", "different", "half-written", "left behind")


@dataclasses.dataclass
class Tally:
    """What happened to the jobs of one variant, by the names of HEADER."""

    jobs: int = 0
    kills: int = 0
    while_saving: int = 0
    by_sigterm: int = 0
    different: int = 0
    half_written: int = 0
    left_behind: int = 0

    @property
    def failures(self):
        return self.different + self.half_written + self.left_behind

    def __str__(self):
        return " | ".join(map(str, dataclasses.astuple(self)))


class Disturber:
    """Disturbs jobs in a folder that `prepare` has filled.

    Args:
      folder: pathlib.Path.
      temporary: pathlib.Path of a folder for temporary files.
      rng: random.Random.
      say: called with a line of progress.
    """

    def __init__(self, folder, temporary, rng, say):
        self._folder, self._temporary, self._rng, self._say = folder, temporary, rng, say

    def run(self, command, flags, num_kills):
        """Disturbs jobs of a variant until there were so many kills; returns the Tally."""
        module, own = COMMANDS[command]
        flags = {**own, **flags}
        output = next(name for name in ("output_file", "output_dir", "export_dir") if name in flags)
        self._line = lambda place, **more: scripts.command(f"{module}.{command}", **{
            **flags, output: os.path.join(place, NAMES.get(output, "")).rstrip("/"), **more})
        start = time.monotonic()
        whole = self._undisturbed("whole")
        seconds = time.monotonic() - start
        all_saved = self._undisturbed("all_saved", **{"keep_checkpoint_max": 99} if output == "output_dir" else {})
        tally = Tally()
        for each in comparison.unstable(whole, all_saved):
            tally.different += 1
            self._say(each)
        self._say(f"undisturbed: {seconds:.1f} s, {len(whole)} files to compare")
        while tally.kills < num_kills:
            self._disturb(min(self._rng.randint(1, MOST_KILLS), num_kills - tally.kills), seconds, tally, whole,
                          all_saved, output == "export_dir")
        return tally

    def _undisturbed(self, place, **more):
        """What a job leaves, see comparison.contents."""
        self._run(place, **more)
        found = comparison.contents(self._folder / place)
        shutil.rmtree(self._folder / place)
        return found

    def _disturb(self, num_kills, seconds, tally, whole, all_saved, is_export):
        """Kills one job so often, lets it to its end, and looks at what it left."""
        place, hows, found = self._folder / "broken", [], []
        for _ in range(num_kills):
            how = self._kill(place, seconds, tally)
            if how is None:  # it had come to its end
                break
            hows.append(how.name)
            there = comparison.contents(place)
            found += comparison.half_written(there, all_saved)
            if is_export and whole.keys() <= there.keys():
                how = None  # it was killed after its work: started again it would write another version
                break
        tally.half_written += len(found)
        if how is not None:
            self._run("broken")
        tally.jobs += 1
        after = comparison.contents(place)
        different = list(comparison.differences(after, whole, all_saved, "SIGTERM" in hows))
        left = [*filter(comparison.is_left_behind, comparison.names_below(place)),
                *os.listdir(self._temporary)]
        tally.different += bool(different)
        tally.left_behind += bool(left)
        for each in (*found, *different, *(f"{path}: is left behind" for path in left)):
            self._say(each)
        self._say(f"job {tally.jobs}: {', '.join(hows) or 'not killed'}; {tally.kills} kills so far, "
                  f"{tally.while_saving} while saving; {tally.failures} failures")
        shutil.rmtree(place)

    def _start(self, place, **more):
        (self._folder / place).mkdir(exist_ok=True)
        return scripts.Process(self._line(place, **more), self._folder, "", {"TMPDIR": str(self._temporary)})

    def _run(self, place, **more):
        """Lets a job come to its end."""
        with self._start(place, **more) as process:
            _, errors = process.communicate(LONGEST)
            assert process.returncode == 0, errors[-3000:]

    def _kill(self, place, seconds, tally):
        """Starts a job and kills it; returns the signal, None if the job ended before it."""
        until = time.monotonic() + self._rng.uniform(0.1, 1.0) * seconds
        waits_for_save, how = self._rng.random() < 0.5, self._rng.choice([signal.SIGKILL] * 3 + [signal.SIGTERM])
        saving = False
        with self._start(place.name) as process:
            while process.poll() is None and time.monotonic() < until:
                saving = waits_for_save and time.monotonic() > until - 0.7 * seconds and any(
                    map(comparison.is_unfinished, comparison.names_below(place)))
                if saving:
                    break
                time.sleep(0.002)
            if process.poll() is not None:
                return None
            process.send_signal(how)
            process.wait(LONGEST)
        tally.kills += 1
        tally.while_saving += saving
        tally.by_sigterm += how == signal.SIGTERM
        return how
