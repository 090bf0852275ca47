"""The curves of a run, as numbers (`training_log.csv`, `eval_log.csv`) and as a picture (`loss.png`)."""

import csv
import os

from data_prep import partial_files

TRAINING_LOG = "training_log.csv"
EVALUATION_LOG = "eval_log.csv"
PLOT_FILE = "loss.png"


class Log:
    """Numbers by step, kept in a CSV file that a resumed run continues.

    Args:
      folder: of the run.
      name: of the file.
      first_step: step the run goes on from; later rows, of a run that was killed after its last checkpoint,
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
        with partial_files.written(self._path, newline="") as file:
            writer = csv.DictWriter(file, dict.fromkeys(name for row in self.rows or [{"step": 0}] for name in row))
            writer.writeheader()
            writer.writerows(self.rows)


def plot(folder, training, evaluation):
    """Draws `loss.png`: losses in one panel, an evaluation's other metrics in one below; a run without steps has none.

    Args:
      folder: of the run.
      training, evaluation: Log.
    """
    if not training.rows:
        return
    import matplotlib

    matplotlib.use("Agg")  # draws into a file, on machines without a screen too
    from matplotlib import pyplot

    evaluated = evaluation.curves()
    metrics = {name: curve for name, curve in evaluated.items() if "loss" not in name}
    losses = {name: curve for name, curve in evaluated.items() if "loss" in name}
    figure, panels = pyplot.subplots(2 if metrics else 1, squeeze=False, sharex=True, layout="constrained",
                                     figsize=(8, 8 if metrics else 5))
    panel = panels[0][0]
    for name, curve in training.curves().items():
        panel.plot(*curve, label=name.replace("_", " "))
    for name, curve in losses.items():
        panel.plot(*curve, "--.", label=f"evaluation: {name.replace('_', ' ')}")
    panel.set(ylabel="loss (nats)", title="Training loss", ylim=(0, None))
    for name, curve in metrics.items():
        panels[-1][0].plot(*curve, "--.", label=name.replace("_", " "))
    if metrics:
        panels[-1][0].set(title="Evaluation")
    for (panel,) in panels:
        panel.grid(alpha=0.3)
        panel.legend()
    panels[-1][0].set(xlabel="step")
    path = os.path.join(folder, PLOT_FILE)
    with partial_files.written(path, "wb") as file:
        figure.savefig(file, format="png", dpi=120)
    pyplot.close(figure)


def _read(path):
    if not os.path.exists(path):
        return []
    with open(path, newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if None not in row.values()]  # a killed run's last line
    return [{name: int(value) if name == "step" else float(value) for name, value in row.items() if value != ""}
            for row in rows]
