"""Evaluations during training: when they are due, the best weights, and early stopping."""

import dataclasses
import math
from collections.abc import Callable

from run.training.checkpoints import BestWeights
from run.training.logs import Logs


@dataclasses.dataclass(frozen=True)
class EvaluationPlan:
    """When to evaluate during training, and what follows from the results.

    Args:
      evaluate: Function () -> dict of name to number, or None for no evaluations.
      eval_steps: int. Steps between evaluations. None evaluates once, after the last step.
      best_metric: str. Metric of the evaluation, where higher is better. The weights with the
        highest value are saved to best/, of equal values those with the lowest loss. None saves
        none.
      early_stopping_evals: int. Number of evaluations without improvement after which to stop.
        None never stops early.
    """

    evaluate: Callable | None = None
    eval_steps: int | None = None
    best_metric: str | None = None
    early_stopping_evals: int | None = None

    @property
    def interval(self):
        """Steps between evaluations, or None if there are none before the last step."""
        return self.eval_steps if self.evaluate else None


NO_EVALUATIONS = EvaluationPlan()


@dataclasses.dataclass(frozen=True)
class Evaluations:
    """The evaluations of a training run.

    The log of evaluations is their state: it shows a resumed run whether it has to evaluate the
    step of its checkpoint, and when to stop early.

    Args:
      run_logs: Logs of the run.
      best: BestWeights of the run.
      num_steps: int. Step at which training ends.
      plan: EvaluationPlan.
    """

    run_logs: Logs
    best: BestWeights
    num_steps: int
    plan: EvaluationPlan

    def is_due(self, step):
        """Returns whether a step requires an evaluation that is not in the log yet.

        An earlier run can have been killed before it finished this evaluation.
        """
        if not self.plan.evaluate:
            return False
        interval = self.plan.interval
        is_last = step >= self.num_steps
        is_multiple = interval and step and step % interval == 0
        return (is_last or is_multiple) and all(row["step"] != step for row in self._rows)

    def run(self):
        """Evaluates, and returns the results, dict of name to float."""
        return {name: float(value) for name, value in self.plan.evaluate().items()}

    def keep(self, step, results):
        """Saves the weights of a step if its results are the best, and logs the results."""
        if self.plan.best_metric:
            of_best = [row for row in self._rows if row["step"] == self.best.step]
            if not of_best or self._rank(results) > self._rank(of_best[0]):
                self.best.save(step)
        # After this, a killed run does not evaluate this step again.
        self.run_logs.add_evaluation(step, results)

    def explain_end(self, step):
        """Returns why there is nothing to train after a step, or None if there is."""
        if step >= self.num_steps:
            return (
                f"training is finished at step {step} of {self.num_steps}; to continue, "
                "increase the number of steps; to start again, choose another directory"
            )
        return self.explain_early_stop(step)

    def explain_early_stop(self, step):
        """Returns why training stops before its last step, or None if it does not."""
        metric = self.plan.best_metric
        max_evaluations = self.plan.early_stopping_evals
        scores = [row.get(metric, -math.inf) for row in self._rows]
        if step >= self.num_steps or not (max_evaluations and scores):
            return None
        if len(scores) - 1 - scores.index(max(scores)) < max_evaluations:
            return None
        return (
            f"training stopped at step {step}: {metric} has not improved in "
            f"{max_evaluations} evaluations; the best is from step {self.best.step}"
        )

    @property
    def _rows(self):
        """Rows of the log of evaluations, list of dicts."""
        return self.run_logs.evaluations.rows

    def _rank(self, results):
        """Returns the key by which results are compared. A lower loss breaks ties."""
        return results.get(self.plan.best_metric, -math.inf), -results.get("loss", 0.0)
