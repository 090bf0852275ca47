"""The loss curve of a run, as numbers (`training_log.csv`) and as a picture (`loss.png`)."""

import csv
import os

LOG_FILE = "training_log.csv"
PLOT_FILE = "loss.png"


class TrainingLog:
    """Losses by step, kept in a CSV file that a resumed run continues.

    Args:
      folder: of the run.
      first_step: step the run goes on from; later rows, of a run that was killed after its last checkpoint,
        are dropped.
    """

    def __init__(self, folder, first_step):
        self._folder = folder
        self._rows = [row for row in self._read() if row["step"] <= first_step]
        self._rewrite()

    def add(self, step, losses):
        """Appends the mean losses of the steps up to `step` to the file."""
        self._rows.append({"step": step, **losses})
        if len(self._rows) == 1:
            self._rewrite()
            return
        with open(self._path(LOG_FILE), "a", newline="", encoding="utf-8") as file:
            csv.DictWriter(file, self._rows[0]).writerow(self._rows[-1])

    def plot(self):
        """Draws the curve of every loss; a run without steps has none."""
        if not self._rows:
            return
        import matplotlib

        matplotlib.use("Agg")  # draws into a file, on machines without a screen too
        from matplotlib import pyplot

        figure, axes = pyplot.subplots(figsize=(8, 5), layout="constrained")
        steps = [row["step"] for row in self._rows]
        for name in self._rows[0]:
            if name != "step":
                axes.plot(steps, [row[name] for row in self._rows], label=name.replace("_", " "))
        axes.set(xlabel="step", ylabel="loss (nats)", title="Training loss", ylim=(0, None))
        axes.grid(alpha=0.3)
        axes.legend()
        figure.savefig(self._path(PLOT_FILE) + ".partial", format="png", dpi=120)
        os.replace(self._path(PLOT_FILE) + ".partial", self._path(PLOT_FILE))
        pyplot.close(figure)

    def _read(self):
        if not os.path.exists(self._path(LOG_FILE)):
            return []
        with open(self._path(LOG_FILE), newline="", encoding="utf-8") as file:
            rows = [row for row in csv.DictReader(file) if None not in row.values()]  # a killed run's last line
        return [{name: int(value) if name == "step" else float(value) for name, value in row.items()}
                for row in rows]

    def _rewrite(self):
        partial = self._path(LOG_FILE) + ".partial"
        with open(partial, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, self._rows[0] if self._rows else ["step"])
            writer.writeheader()
            writer.writerows(self._rows)
        os.replace(partial, self._path(LOG_FILE))

    def _path(self, name):
        return os.path.join(self._folder, name)
