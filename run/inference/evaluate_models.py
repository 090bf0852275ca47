"""The job of run.evaluate_models: size, score, latency, and agreement of models of one task.

The models can have any format.

All models get the features of a checkpoint, since only a SavedModel tokenizes in its graph, and are
scored by the task's metrics, so the model causes all differences. The logarithms of an export's
probabilities serve as logits.
"""

import collections.abc
import dataclasses
import re
import statistics
import time

import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401, registers the kernels of an export's tokenizer
from tqdm import tqdm

from bert_tf import files
from bert_tf.checkpoints import ModelDirectory
from bert_tf.cli import script
from bert_tf.cli.tables import format_table
from bert_tf.errors import InputError, rename_argument
from bert_tf.features import FEATURES
from bert_tf.serving import checkpoint, exports, loading, saved_model
from bert_tf.tasks import KINDS
from bert_tf.techniques.int8 import FakeQuantization, quantizable, quantize
from run.finetuning.fine_tuned_model import FineTunedModel
from run.finetuning.settings import FineTunedSettings
from run.finetuning.tasks import TASKS
from run.inference.served_models import resolve_checkpoint
from run.training.batches import take_rows

BATCH_SIZES = (1, 8)  # Numbers of texts to measure latency with.
TIMED_TEXTS = 64  # Number of randomly sampled development texts for measuring latency.
WARM_UP_CALLS = 4
SEED = 12345  # Seed of the sample.


@dataclasses.dataclass(frozen=True)
class EvaluatedModel:
    """A model in any format.

    Attributes:
      path: str.
      fine_tuned: FineTunedModel. The checkpoint itself, or for an export, the checkpoint before it.
      size: int. Size in bytes, of the weights of a checkpoint or of the files of an export.
      answer: Callable (features) -> dict of arrays, the logits, for one batch.
    """

    path: str
    fine_tuned: FineTunedModel
    size: int
    answer: collections.abc.Callable

    @property
    def features(self):
        """Development data, dict of arrays [n, ...]."""
        return {name: self.fine_tuned.task.eval_features[name] for name in FEATURES}

    def predict(self, batch_size):
        """Returns the logits for all development data, dict of arrays [n, ...]."""
        features = self.features
        parts = []
        for start in tqdm(
            range(0, len(features["input_ids"]), batch_size),
            desc=self.path,
            unit="batch",
            dynamic_ncols=True,
        ):
            parts.append(
                self.answer(
                    {name: values[start : start + batch_size] for name, values in features.items()}
                )
            )
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


@tf.autograph.experimental.do_not_convert  # Contains nothing to convert.
def run(settings):
    """Evaluates all models, prints a table, and writes the numbers if `output_file` is set.

    Args:
      settings: ModelEvaluationSettings, resolved.

    Raises:
      InputError: See bert_tf.serving.checkpoint.load_servable. Also if models are of different
        kinds, if an export precedes all checkpoints, or if the task has no development data.
    """
    models = []
    for path in settings.models:
        if exports.is_export(path):
            models.append(_open_export(path, models))
        else:
            models.append(_open_checkpoint(path, models, settings))
    metric = models[0].fine_tuned.task.metric
    rows = _score_models(models, settings.eval_batch_size)
    for row, milliseconds in zip(rows, _time_models(models), strict=True):
        row["milliseconds"] = milliseconds
    print(_format_models(rows))
    report = {"metric": metric, "models": rows}
    if settings.int8_matrices:
        report["int8"] = _measure_int8(models[0].fine_tuned)
        print(_format_int8(report["int8"], metric))
    if settings.output_file:
        with files.new_file(settings.output_file) as file:
            file.write(files.to_json(settings.output_file, report, indent=1) + "\n")


def _open_checkpoint(path, others, settings):
    """Opens a checkpoint and reads its data: EvaluatedModel. `others`: Models before it."""
    options = {"max_seq_length": settings.max_seq_length} if settings.max_seq_length else {}
    resolved = resolve_checkpoint(path, "models", script.warn, **options)
    if resolved.served_task.kind not in TASKS:
        raise InputError(
            "is not fine-tuned for a task, so it has no score; choose fine-tuned models",
            "models",
            path,
        )
    _check_kind(path, resolved.served_task.kind, others)
    model = checkpoint.load_servable(**resolved.servable_options)
    if model.metadata.window_pooling:
        raise InputError(
            "splits long texts into windows, but models are evaluated on single windows; compare "
            "the predictions of run.predict instead",
            "models",
            path,
        )
    with rename_argument(init_checkpoint="models"):
        fine_tuned = FineTunedModel.open(
            FineTunedSettings.from_served(resolved, **settings.data.values())
        )
    network = tf.function(
        lambda features: model.model(features, training=False),
        autograph=False,
        reduce_retracing=True,
    )
    size = sum(
        variable.dtype.size * int(np.prod(variable.shape)) for variable in model.model.variables
    )
    return EvaluatedModel(
        path,
        fine_tuned,
        size,
        lambda features: tf.nest.map_structure(lambda value: value.numpy(), network(features)),
    )


def _open_export(path, others):
    """Opens an export, which gets the features of the checkpoint before it: EvaluatedModel."""
    if not others:
        raise InputError(
            "is an export, whose data its checkpoint describes; list the checkpoint before it",
            "models",
            path,
        )
    with rename_argument(model="models"):
        is_file = exports.is_model_file(ModelDirectory.open(path))
        kind, answer = (_open_file if is_file else _open_saved_model)(path)
    _check_kind(path, kind, others)
    entry = files.at(path)
    size = (
        sum(files.at(each).size() for each in entry.files_below())
        if entry.is_dir()
        else sum(files.at(each).size() for each in exports.list_model_paths(path))
    )
    return EvaluatedModel(path, others[-1].fine_tuned, size, answer)


def _open_saved_model(path):
    """Opens the signature "ids" of a SavedModel.

    Returns its kind, a key of KINDS, and `EvaluatedModel.answer`.
    """
    kind = KINDS[exports.read_metadata(path).kind]
    loaded = saved_model.load_saved_model(exports.find_latest_version(path))
    required_length = loaded.signatures["ids"].structured_input_signature[1]["input_ids"].shape[-1]

    def answer(features):
        """Returns the logits of features, which it pads to a static length."""
        length = features["input_ids"].shape[-1]
        if length > (required_length or length):
            raise InputError(f"the export requires {required_length}", "max_seq_length", length)
        missing = (required_length or length) - length
        outputs = loaded.signatures["ids"](
            **{
                name: tf.constant(
                    np.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, missing)]), tf.int32
                )
                for name, values in features.items()
            }
        )
        logits = kind.to_logits({name: value.numpy() for name, value in outputs.items()})
        return (
            {name: values[:, :length] for name, values in logits.items()}
            if kind.per_position
            else logits
        )

    return kind.name, answer


def _open_file(path):
    """Opens a model in a file. See `_open_saved_model`."""
    model = loading.open_export_file(path)

    def answer(features):
        shape = features["input_ids"].shape  # [B, S] or [B, choices, S]
        outputs = model.compute_outputs(
            {name: values.reshape([-1, shape[-1]]) for name, values in features.items()}
        )
        return (
            {name: values.reshape(shape[:2]) for name, values in outputs.items()}
            if len(shape) == 3
            else outputs
        )

    return model.kind, answer


def _check_kind(path, kind, others):
    """Raises InputError unless a model has the same kind as `others`."""
    if others and kind != others[0].fine_tuned.task.kind:
        raise InputError(
            f"is a {kind}, but {others[0].path} is a {others[0].fine_tuned.task.kind}",
            "models",
            path,
        )


def _score_models(models, batch_size):
    """Returns a list of JSON values for EvaluatedModels.

    Each is a dict of "model", the path; "bytes"; "scores", a dict of metrics; and
    "equal_decisions", the fraction of the decisions that agree with the first model,
    None if the models make different numbers of them.
    """
    rows = []
    first = None
    for model in models:
        task = model.fine_tuned.task
        outputs = model.predict(batch_size)
        scores = {
            name: float(score) for name, score in task.score(outputs).items() if name != "loss"
        }
        decisions = list(task.decisions(outputs))
        first = first or decisions
        equal = (
            float(np.mean([one == other for one, other in zip(decisions, first, strict=True)]))
            if (len(decisions) == len(first))
            else None
        )
        rows.append(
            {"model": model.path, "bytes": model.size, "scores": scores, "equal_decisions": equal}
        )
    return rows


def _time_models(models):
    """Returns a dict of batch size to median milliseconds for each model.

    The models take turns with the same texts, so that other load on the machine affects all of
    them.
    """
    seconds = [{count: [] for count in BATCH_SIZES} for _ in models]
    num_rows = min(len(model.features["input_ids"]) for model in models)
    # Repeated if there are fewer.
    rows = np.resize(np.random.default_rng(SEED).permutation(num_rows), TIMED_TEXTS)
    for count in BATCH_SIZES:
        batches = rows.reshape(-1, count)
        for batch in (*batches[:WARM_UP_CALLS], *batches):
            for model, times in zip(models, seconds, strict=True):
                features = take_rows(model.features, batch)
                start = time.perf_counter()
                model.answer(features)
                times[count].append(time.perf_counter() - start)
    return [
        {count: 1000 * statistics.median(values[WARM_UP_CALLS:]) for count, values in times.items()}
        for times in seconds
    ]


def _format_models(rows):
    """Formats the result of `_score_models` with latencies as a table."""
    names = list(rows[0]["scores"])
    header = ["model", "megabytes", *names, "same", *(f"ms_of_{count}" for count in BATCH_SIZES)]
    return format_table(
        header,
        [
            [
                row["model"],
                f"{row['bytes'] / 1e6:.1f}",
                *(f"{row['scores'][name]:.4f}" for name in names),
                "-" if row["equal_decisions"] is None else f"{row['equal_decisions']:.1%}",
                *(f"{row['milliseconds'][count]:.2f}" for count in BATCH_SIZES),
            ]
            for row in rows
        ],
    )


def _measure_int8(opened):
    """Evaluates a FineTunedModel unchanged, with each single matrix in int8, and with all of them.

    Returns:
      List of dicts: "matrix", its name; "score"; "change", its difference; "decisions_changed"; and
      "largest_difference" of logits.
    """
    model = opened.make_model()
    task = opened.task
    # Layers in the order of their numbers.
    names = sorted(
        quantizable(model),
        key=lambda name: [
            int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", name)
        ],
    )
    baseline = opened.predict(model)
    score = float(task.score(baseline)[task.metric])
    decisions = task.decisions(baseline)
    rows = [
        {
            "matrix": "nothing",
            "score": score,
            "change": 0.0,
            "decisions_changed": 0,
            "largest_difference": 0.0,
        }
    ]
    for name, only in [*((name, [name]) for name in names), ("everything", names)]:
        quantize(model, FakeQuantization(), only)
        outputs = opened.predict(model)
        quantize(model, None, only)
        new_score = float(task.score(outputs)[task.metric])
        rows.append(
            {
                "matrix": name,
                "score": new_score,
                "change": new_score - score,
                "decisions_changed": sum(
                    one != other
                    for one, other in zip(task.decisions(outputs), decisions, strict=True)
                ),
                "largest_difference": max(
                    float(np.abs(outputs[key] - baseline[key]).max()) for key in baseline
                ),
            }
        )
    return rows


def _format_int8(rows, metric):
    """Formats the result of `_measure_int8` as a table."""
    return format_table(
        ["in int8", metric, "change", "decisions changed", "largest difference of logits"],
        [
            [
                row["matrix"],
                f"{row['score']:.4f}",
                f"{row['change']:+.4f}",
                f"{row['decisions_changed']:,}",
                f"{row['largest_difference']:.4f}",
            ]
            for row in rows
        ],
    )
