"""Kills by the hundred, and a served model under fire: what was survived, as a table.

    python -m tests.robustness.soak                  the whole size, some hours
    python -m tests.robustness.soak --share=0.05     a twentieth of it

Jobs are killed at random moments, half of them while they save, and started again until they end. Their ends are
compared bitwise with those of jobs that nobody disturbed; what lies under a final name at the moment of a kill is
compared too. It is no part of `make test`.
"""

import argparse
import collections
import dataclasses
import hashlib
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import tensorflow as tf

from tests import scripts
from tests.robustness import runner, world
from tests.robustness.commands import COMMANDS

MOST_KILLS = 3  # of one job, before it is let to its end
DATA, TRAINING, TUNING, EXPORT, SECONDS = 100, 100, 20, 20, 600  # kills of each kind, and of the served model
UNFINISHED = ("_temp", ".partial", ".unfinished-", "checkpoint.tmp")
TRAINED = {"num_train_steps": 40, "num_warmup_steps": 4, "save_checkpoints_steps": 5, "learning_rate": 1e-3,
           "iterations_per_loop": 2}
VARIANTS = {  # kind -> command, name of the output, {variant: flags}
    "data creation": ("create_pretraining_data", "output_file", {
        "one shard": {}, "shards": {"num_output_shards": 6, "num_workers": 2}, "gzip": {"input_file": "large.txt.gz"},
        "dynamic masking": {"masking": "dynamic", "num_output_shards": 4},
        "whole words": {"do_whole_word_mask": True, "num_output_shards": 3, "num_workers": 1}}),
    "training": ("run_pretraining", "output_dir", {
        "plain": {}, "dynamic masking": {"masking": "dynamic", "vocab_file": "vocab.txt",
                                         "input_file": "unmasked.tfrecord"},
        "LAMB, accumulation": {"optimizer": "lamb", "accumulate_steps": 2}, "float16": {"mixed_precision": "float16"},
        "two replicas": {"distribution_strategy": "mirrored", "num_cpu_devices": 2},
        "evaluation": {"do_eval": True, "eval_steps": 10}}),
    "fine-tuning with best/": ("run_classifier", "output_dir", {
        "classifier": {"do_eval": True, "do_predict": True, "eval_steps": 6, "num_train_epochs": 12,
                       "save_checkpoints_steps": 4}}),
    "export": ("export_saved_model", "export_dir", {"SavedModel": {}, "int8 weights": {"weights": "int8"}}),
}


@dataclasses.dataclass
class Tally:
    """What happened to the jobs of one variant."""

    jobs: int = 0
    kills: int = 0
    while_saving: int = 0
    by_sigterm: int = 0
    different: int = 0
    half_written: int = 0
    left_behind: int = 0

    def __str__(self):
        return (f"{self.jobs:5}  {self.kills:5}  {self.while_saving:12}  {self.by_sigterm:10}  {self.different:9}  "
                f"{self.half_written:12}  {self.left_behind:11}")


class Soak:
    """Disturbs jobs in a folder that world.make has filled.

    Args:
      folder: pathlib.Path.
      temporary: pathlib.Path of a folder for temporary files.
      rng: random.Random.
    """

    def __init__(self, folder, temporary, rng):
        self._folder, self._temporary, self._rng = folder, temporary, rng

    def variant(self, kind, name, num_kills):
        """Disturbs jobs of a variant until there were so many kills; returns the Tally."""
        command, output, variants = VARIANTS[kind]
        flags = {**COMMANDS[command][1], **variants[name]}
        if command == "run_pretraining":
            flags = {**flags, **TRAINED}
        if command == "create_pretraining_data":
            flags = {"input_file": "large.txt", "dupe_factor": 10, **{
                key: value for key, value in flags.items() if key != "input_file" or value != "text.txt"}}
        self._line = lambda place: scripts.command(f"{COMMANDS[command][0]}.{command}", **{
            **flags, output: f"{place}/out.tfrecord" if output == "output_file" else place})
        start = time.monotonic()
        self._run("whole")
        seconds, whole = time.monotonic() - start, contents(self._folder / "whole")
        self._run("again")
        stable = {path for path, content in contents(self._folder / "again").items()
                  if whole.get(path) == content and is_compared(path, whole)}
        tally = Tally()
        while tally.kills < num_kills:
            place = self._folder / "broken"
            for _ in range(min(self._rng.randint(1, MOST_KILLS), num_kills - tally.kills)):
                if not self._kill(place, seconds, tally):
                    break
                tally.half_written += sum(
                    is_final(path) and path in stable and content != whole[path]
                    for path, content in contents(place).items())
            self._run("broken")
            tally.jobs += 1
            after = contents(place)
            different = [path for path in stable if after.get(path) != whole[path]]
            tally.different += bool(different)
            for path in different:
                print(f"differs: {path}", flush=True)
            tally.left_behind += any(map(is_unfinished, after)) or bool(os.listdir(self._temporary))
            shutil.rmtree(place)
        for each in ("whole", "again"):
            shutil.rmtree(self._folder / each)
        return tally

    def _start(self, place):
        (self._folder / place).mkdir(exist_ok=True)
        return scripts.Process(self._line(place), self._folder, "", {"TMPDIR": str(self._temporary)})

    def _run(self, place):
        """Lets a job come to its end."""
        with self._start(place) as process:
            _, errors = process.communicate(scripts.SECONDS)
            assert process.returncode == 0, errors[-3000:]

    def _kill(self, place, seconds, tally):
        """Starts a job and kills it; returns whether it was killed before its end."""
        until = time.monotonic() + self._rng.uniform(0.1, 1.0) * seconds
        waits_for_save, how = self._rng.random() < 0.5, self._rng.choice([signal.SIGKILL] * 3 + [signal.SIGTERM])
        saving = False
        with self._start(place.name) as process:
            while process.poll() is None and time.monotonic() < until:
                saving = waits_for_save and time.monotonic() > until - 0.7 * seconds and any(
                    map(is_unfinished, names_below(place)))
                if saving:
                    break
                time.sleep(0.002)
            if process.poll() is not None:
                return False
            process.send_signal(how)
            process.wait(scripts.SECONDS)
        tally.kills += 1
        tally.while_saving += saving
        tally.by_sigterm += how == signal.SIGTERM
        return True


def names_below(folder):
    return [os.path.relpath(os.path.join(parent, name), folder)
            for parent, folders, names in os.walk(folder) for name in (*folders, *names)]


def is_unfinished(path):
    return any(part in each for each in path.split(os.sep) for part in UNFINISHED)


def is_final(path):
    """Whether a file never changes once it has its name."""
    return path.endswith((".tfrecord", ".index", ".data-00000-of-00001", ".pb")) and not is_unfinished(path)


def is_compared(path, whole):
    """Whether a file is to end as in a job that nobody disturbed.

    Not the logs of means over loops of steps, whose lengths follow the clock, nor older checkpoints: one that SIGTERM
    caused takes a place among those that are kept.
    """
    if path.endswith(("training_log.csv", "loss.png", "checkpoint")) or (".data-" in path and "variables" not in path):
        return False
    found = re.fullmatch(r"(.*ckpt-)(\d+)\.index", path)
    steps = [int(each[2]) for each in map(re.compile(r"(.*ckpt-)(\d+)\.index").fullmatch, whole)
             if found and each and each[1] == found[1]]
    return not found or int(found[2]) == max(steps)


def contents(folder):
    """dict of the paths below a folder -> SHA-256 of what is there; of a checkpoint, of its tensors."""
    found = {}
    for path in names_below(folder):
        whole = folder / path
        if not whole.is_file() or "events.out" in path:
            continue
        if path.endswith(".index") and not is_unfinished(path) and "variables" not in path:
            reader = tf.train.load_checkpoint(str(whole).removesuffix(".index"))
            content = b"".join(name.encode() + reader.get_tensor(name).tobytes()
                               for name in sorted(reader.get_variable_to_shape_map())
                               if name != "_CHECKPOINTABLE_OBJECT_GRAPH")
        else:
            content = whole.read_bytes()
        found[path] = hashlib.sha256(content).hexdigest()
    return found


def prepare(folder):
    """Makes a world, and what the jobs need beside it."""
    world.make(folder)
    rng = random.Random(1)
    words = ["the", "line", "stops", "debugger", "a", "b", "c", "not", "here"]
    text = "\n\n".join("\n".join(" ".join(rng.choices(words, k=rng.randint(3, 20))) for _ in range(rng.randint(2, 9)))
                       for _ in range(1500)) + "\n"
    (folder / "large.txt").write_text(text)
    subprocess.run(["gzip", "--keep", str(folder / "large.txt")], check=True)
    scripts.succeed("data_prep.create_pretraining_data", folder, input_file="text.txt", vocab_file="vocab.txt",
                    output_file="unmasked.tfrecord", max_seq_length=32, masking="dynamic", dupe_factor=4)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="Share of the whole size.")
    parser.add_argument("--seed", type=int, default=1, help="Of the moments at which jobs are killed.")
    parser.add_argument("--only", choices=[*VARIANTS, "served model"], help="Leave out all others.")
    settings = parser.parse_args()
    failures, rng = 0, random.Random(settings.seed)
    with tempfile.TemporaryDirectory() as above:
        folder, temporary = runner.world_folder(pathlib.Path(above))
        prepare(folder)
        soak = Soak(folder, temporary, rng)
        print(f"{'':42}   jobs  kills  while saving  by SIGTERM  different  half-written  left behind", flush=True)
        for kind, number in zip(VARIANTS, (DATA, TRAINING, TUNING, EXPORT), strict=True):
            if settings.only not in (None, kind):
                continue
            names, total = VARIANTS[kind][2], collections.Counter()
            for name in names:
                tally = soak.variant(kind, name, max(1, round(number * settings.share / len(names))))
                failures += tally.different + tally.half_written + tally.left_behind
                total.update(dataclasses.asdict(tally))
                print(f"{kind + ', ' + name:42}  {tally}", flush=True)
            print(f"{kind:42}  {Tally(**total)}", flush=True)
        if settings.only in (None, "served model"):
            done = subprocess.run([sys.executable, "-m", "tests.robustness.served_soak", str(folder / "served" / "1"),
                                   str(max(5, SECONDS * settings.share))], cwd=scripts.ROOT, check=False)
            failures += done.returncode != 0
    print("all was survived" if not failures else f"{failures} failures")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
