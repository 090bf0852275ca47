"""Scores an exported model on development data beside the checkpoint that it was made from.

Both see the same features and are judged by the task's own metrics, so that a difference is the export's.
"""

import json
import time

import tensorflow as tf

from bert_tf import files
from bert_tf.errors import InputError
from bert_tf.serving import checkpoint as checkpoints
from bert_tf.tokenization.model_inputs import FEATURES
from run.arrays.prediction import Predictor
from run.finetuning.fine_tuned import FineTuned
from run.finetuning.settings import FineTunedSettings
from run.inference import feature_models
from run.tasks import TASKS


@tf.autograph.experimental.do_not_convert  # nothing in it needs to be
def run(settings):
    """Evaluates both, prints a table, and writes it if a file is named.

    Args:
      settings: ExportEvaluationSettings, resolved.

    Raises:
      InputError: as bert_tf.serving.checkpoint.load's; a task without development data; data that do not suit it; an
        export of another kind; a score that fell by more than `most_lost`.
    """
    checkpoint, path = settings.model.init_checkpoint, settings.export.model
    kind = settings.card.kind
    if kind not in TASKS:
        raise InputError("of a model that is no fine-tuned task's there is no score", "init_checkpoint", checkpoint)
    servable, card = checkpoints.load(settings)
    if card.window_pooling:
        raise InputError(f"`init_checkpoint`={checkpoint}: reads long texts in windows, and exports are compared on "
                         "single ones; compare what both answer by run.predict")
    export = feature_models.open_export(path)
    if export.kind != kind:
        raise InputError(f"`model`={path}: is of a {export.kind}, `init_checkpoint`={checkpoint} of a {kind}")
    task = FineTuned.open(FineTunedSettings.from_served(settings)).task
    predictor = Predictor(tf.distribute.get_strategy(), servable.model, per_position=task.per_position)
    features = {name: task.eval_features[name] for name in FEATURES}
    whole = _timed(predictor, features, settings.eval_batch_size, "checkpoint")
    report = compare(task, whole, _timed(export, features, settings.eval_batch_size))
    print(as_text(report))
    if settings.output_file:
        with files.new_file(settings.output_file) as file:
            json.dump(report, file, indent=1)
            file.write("\n")
    lost = -100 * report["scores"][task.metric]["difference"]
    if settings.most_lost is not None and lost > settings.most_lost:
        raise InputError(f"`most_lost`={settings.most_lost}: {task.metric} fell by {lost:.2f} points")


def compare(task, whole, export):
    """What two models come to on the development data of a task.

    Args:
      task: Task that has read it.
      whole, export: of each model its outputs, dict of arrays, and the seconds they took.

    Returns:
      Dict that JSON can hold: "scores", dict of metric -> "checkpoint", "export" and "difference"; "decisions" and
      "equal_decisions", how many there are and how many are the same; "seconds" of each.
    """
    scores = [task.score(outputs) for outputs, _ in (whole, export)]
    decisions = [task.decisions(outputs) for outputs, _ in (whole, export)]
    return {
        "scores": {name: {"checkpoint": first, "export": scores[1][name], "difference": scores[1][name] - first}
                   for name, first in scores[0].items() if name != "loss"},
        "decisions": len(decisions[0]),
        "equal_decisions": sum(first == second for first, second in zip(*decisions, strict=True)),
        "seconds": {"checkpoint": whole[1], "export": export[1]},
    }


def as_text(report):
    """A table of what `compare` gave."""
    width = max(map(len, report["scores"]))
    lines = [f"{'':{width}}  checkpoint    export  difference"]
    lines += [f"{name:{width}}  {row['checkpoint']:10.4f}{row['export']:10.4f}{row['difference']:+12.4f}"
              for name, row in report["scores"].items()]
    lines.append(f"{report['equal_decisions']:,} of {report['decisions']:,} decisions are the same; checkpoint "
                 f"{report['seconds']['checkpoint']:.1f} s, export {report['seconds']['export']:.1f} s, each with its "
                 "start")
    return "\n".join(lines)


def _timed(model, *arguments):
    """What a model gives, and the seconds that it took."""
    start = time.perf_counter()
    outputs = model(*arguments)
    return outputs, time.perf_counter() - start
