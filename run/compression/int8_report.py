"""Evaluation of a fine-tuned model with one matrix in int8 at a time, and with all of them."""

import csv

import numpy as np
import tensorflow as tf

from bert_tf.files import new_file
from bert_tf.techniques.int8 import FakeQuantization, quantizable, quantize
from run.finetuning.fine_tuned_model import FineTunedModel
from run.settings import TrainingSettings

HEADINGS = ("in int8", "score", "change", "decisions changed", "largest difference of logits")


@tf.autograph.experimental.do_not_convert  # Contains nothing to convert.
def run(settings):
    """Prints a table, and writes it if `output_file` is set.

    Args:
      settings: QuantizationSettings, resolved.

    Raises:
      InputError: If the data do not match the model, or if layers cannot be quantized.
    """
    opened = FineTunedModel.open(settings, training=TrainingSettings(eval_batch_size=settings.eval_batch_size))
    metric, rows = opened.task.metric, list(_measure(opened))
    print(format_table(rows, metric))
    if settings.output_file:
        with new_file(settings.output_file, newline="") as file:
            csv.writer(file, delimiter="\t", lineterminator="\n").writerows(
                [(HEADINGS[0], metric, *HEADINGS[2:]), *rows])


def _measure(opened):
    """Yields a row of HEADINGS for a FineTunedModel unchanged, with each single matrix in int8, and with all."""
    model, task = opened.make_model(), opened.task
    names = sorted(quantizable(model), key=_sort_key)
    baseline = opened.predict(model)
    score, decisions = task.score(baseline)[task.metric], task.decisions(baseline)
    yield "nothing", score, 0.0, 0, 0.0
    for name, only in [*((name, [name]) for name in names), ("everything", names)]:
        quantize(model, FakeQuantization(), only)
        outputs = opened.predict(model)
        quantize(model, None, only)
        new_score = task.score(outputs)[task.metric]
        changed = sum(one != other for one, other in zip(task.decisions(outputs), decisions, strict=True))
        difference = max(float(np.abs(outputs[key] - baseline[key]).max()) for key in baseline)
        yield name, new_score, new_score - score, changed, difference


def _sort_key(name):
    """Returns a sort key: the word embedding matrix first, then the layers in order, the pooler, and the head."""
    parts = name.split("/")
    layer = next((int(part.removeprefix("layer_")) for part in parts if part.startswith("layer_")), None)
    if layer is not None:
        return 1, layer, ("self", "attention", "intermediate", "output").index(
            "self" if "self" in parts else "attention" if "attention" in parts else parts[-2])
    return (0 if "embeddings" in parts else 2 if "pooler" in parts else 3), 0, 0


def format_table(rows, metric):
    """Formats the table as text. `rows`: Rows of HEADINGS."""
    width = max(len(row[0]) for row in rows)
    lines = [f"{'in int8':{width}}  {metric:>15}   change  decisions changed  largest difference of logits"]
    lines += [f"{name:{width}}  {score:15.4f}  {change:+7.4f}  {changed:17,}  {difference:28.4f}"
              for name, score, change, changed, difference in rows]
    return "\n".join(lines)
