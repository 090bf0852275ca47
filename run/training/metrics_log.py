"""Numbers by step, kept as CSV: `training_log.csv` and `eval_log.csv`."""

import csv
import os

from bert_tf.files import new_file

TRAINING_LOG = "training_log.csv"
EVALUATION_LOG = "eval_log.csv"


class Log:
    """Numbers by step, kept in a CSV file that a resumed run continues.

    Args:
      folder: of the run.
      name: of the file.
      first_step: step the run resumes at; later rows, of a run that was killed after its last checkpoint,
        are dropped.
      writes: whether the file is written; of several workers, one does.
    """

    def __init__(self, folder, name, first_step, writes=True):
        self._path = os.path.join(folder, name)
        self._writes = writes
        self.rows = [row for row in _read(self._path) if row["step"] <= first_step]
        if os.path.exists(self._path):
            self._rewrite()

    def add(self, step, values):
        """Appends a row to the file; `values`: dict of name -> float."""
        self.rows.append({"step": step, **values})
        if self.rows[-1].keys() != self.rows[0].keys() or len(self.rows) == 1:
            self._rewrite()
        elif self._writes:
            self._append()

    def _append(self):
        with open(self._path, "a", newline="", encoding="utf-8") as file:
            csv.DictWriter(file, self.rows[0]).writerow(self.rows[-1])

    def curves(self):
        """Dict of name -> (steps, values), two lists."""
        names = dict.fromkeys(name for row in self.rows for name in row if name != "step")
        return {name: tuple(zip(*((row["step"], row[name]) for row in self.rows if name in row), strict=True))
                for name in names}

    def _rewrite(self):
        if not self._writes:
            return
        with new_file(self._path, newline="") as file:
            writer = csv.DictWriter(file, dict.fromkeys(name for row in self.rows or [{"step": 0}] for name in row))
            writer.writeheader()
            writer.writerows(self.rows)


def _read(path):
    if not os.path.exists(path):
        return []
    with open(path, newline="", encoding="utf-8") as file:
        whole = [line for line in file if line.endswith("\n")]  # not a killed run's last line
    rows = [row for row in csv.DictReader(whole) if None not in row.values()]
    return [{name: int(value) if name == "step" else float(value) for name, value in row.items() if value != ""}
            for row in rows]
