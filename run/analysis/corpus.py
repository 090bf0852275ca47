"""The job of run.analyze_attention: the behavior of each head over a corpus and a treebank."""

import itertools
import math
import os
import re
from typing import NamedTuple

import numpy as np
import tensorflow as tf
from matplotlib.ticker import MaxNLocator
from tqdm import tqdm

from bert_tf import files
from bert_tf.cli.tables import format_table
from bert_tf.errors import InputError
from bert_tf.files import new_file
from bert_tf.techniques.masks import apply_masks, get_layers
from run.analysis import behaviors, reading
from run.analysis.observing import Observer, compute_means
from run.analysis.syntax import OFFSETS, Dependencies
from run.finetuning.fine_tuned_model import FineTunedModel
from run.training import plots
from run.training.prediction import Predictor

NUM_SORTED_TEXTS = 512  # Number of texts to sort by length together.
NUM_PRINTED_RELATIONS = 12  # Number of relations to print.
MAX_RELATIONS = 30  # Maximum number in a plot.
COLUMNS = 4  # Columns of panels.
CURVE_POINTS = 10  # Number of steps in which all heads are pruned.
RANDOM_ORDERS = 3  # Number of random orders to compare the curve with.
SEED = 1  # Seed of the random orders, and of the order of the training examples.
BY_IMPORTANCE = "importance"  # The order that prunes the least important heads first.


def run(settings):
    """Reads all inputs and writes the results.

    Args:
      settings: AnalyzeAttentionSettings, resolved.

    Raises:
      InputError: See Observer. Also if a file is invalid or empty, or if the data do not match the
        model.
    """
    fine_tuned = FineTunedModel.open(settings) if settings.importance_examples else None
    observer = Observer(settings)
    if not any(True for _ in _read_texts(settings)):
        raise InputError("contains no text", "input_file", settings.input_file)
    dependencies = None
    if settings.treebank:  # An error must not come after hours.
        names = dict.fromkeys(
            name
            for sentence in reading.read_parsed_sentences(settings.treebank)
            for name in sentence.relations
        )
        dependencies = Dependencies(list(names), len(observer.heads))
    measured = _measure_texts(observer, settings)
    num_sentences, num_skipped = (
        _add_sentences(dependencies, observer, settings) if dependencies else (0, 0)
    )
    curve = _measure_curve(fine_tuned, settings.importance_examples) if fine_tuned else None
    folder = settings.output_dir
    _write(folder, observer.heads, measured.means, dependencies)
    if curve:
        _write_importance(folder, *curve, fine_tuned.task.metric)
    _remove_earlier(
        settings, {"relations": bool(dependencies), "importance": bool(curve), "curve": bool(curve)}
    )
    sentences = f", {num_sentences:,} sentences" if dependencies else ""
    notes = ""
    if measured.num_cut:
        notes += f"; truncated texts: {measured.num_cut:,}"
    if num_skipped:
        notes += f"; sentences skipped as too long: {num_skipped:,}"
    print(f"{folder}: {measured.num_texts:,} texts{sentences}{notes}")


def _read_texts(settings):
    return reading.read_corpus(settings.input_file, settings.treebank, settings.requests.options)


class _CorpusMeasures(NamedTuple):
    """Measures over all texts.

    Attributes:
      means: float64 [LN, ME]. Means of all measures.
      num_texts: int. Number of texts.
      num_cut: int. Number of truncated texts.
    """

    means: np.ndarray
    num_texts: int
    num_cut: int


def _measure_texts(observer, settings):
    """Computes the _CorpusMeasures of all texts."""

    def compute_sums(features):
        return observer.sum_measures(observer.compute_attention(features), features)

    step = _trace(compute_sums)
    sums = (0.0, 0.0)
    num_texts = 0
    num_cut = 0
    for group in _read_groups(_read_texts(settings), "text"):
        for features, was_cut in reading.text_batches(
            observer.tokenizer, group, observer.metadata.max_seq_length, settings.batch_size
        ):
            sums = [
                total + value.numpy().astype(float)
                for total, value in zip(sums, step(features), strict=True)
            ]
            num_cut += int(was_cut.sum())
        num_texts += len(group)
    return _CorpusMeasures(compute_means(*sums), num_texts, num_cut)


def _add_sentences(dependencies, observer, settings):
    """Adds all sentences to Dependencies.

    Returns the numbers of sentences and of skipped ones, which are too long.
    """

    def find_hits(features, words, heads):
        attention = [
            behaviors.word_attention(each, words, tf.shape(heads)[1])
            for each in observer.compute_attention(features)
        ]
        return tf.concat([behaviors.hits(each, heads) for each in attention], axis=2)

    step = _trace(find_hits)
    num_sentences = num_read = 0
    for group in _read_groups(reading.read_parsed_sentences(settings.treebank), "sentence"):
        for indices, features, words, heads in reading.sentence_batches(
            observer.tokenizer, group, observer.metadata.max_seq_length, settings.batch_size
        ):
            dependencies.add(
                num_sentences + indices,
                [group[index].relations for index in indices],
                heads.numpy(),
                step(features, words, heads).numpy(),
            )
            num_read += len(indices)
        num_sentences += len(group)
    return num_sentences, num_sentences - num_read


def _measure_curve(model, num_examples):
    """Measures the importance of a FineTunedModel's K heads, and its score as heads are masked.

    Importance is the one that pruning uses. Without any head, the model has only feed-forward
    layers.

    Returns:
      List of K dicts, the most important head first: layer, head, importance (of norm 1 in each
      layer); and a list of dicts, one per point of the curve: heads_out, the number of pruned
      heads, and the score for each order of pruning, BY_IMPORTANCE or "random_I".
    """
    by_layer, _ = model.measure_importance(num_examples, SEED)
    heads = [(layer, head) for layer, each in enumerate(by_layer) for head in range(len(each))]
    values = np.concatenate(by_layer)
    rng = np.random.default_rng(SEED)
    orders = {BY_IMPORTANCE: np.argsort(values, kind="stable")}
    orders |= {f"random_{number}": rng.permutation(len(values)) for number in range(RANDOM_ORDERS)}
    by_head = [
        {"layer": heads[index][0], "head": heads[index][1], "importance": values[index]}
        for index in np.argsort(-values, kind="stable")
    ]
    return by_head, _score_orders(model, np.array([layer for layer, _ in heads]), orders)


def _score_orders(model, layer_of, orders):
    """Returns the points of the curve. `layer_of`: int [LN]; `orders`: dict of name -> int [LN]."""
    network = model.make_model()
    task = model.task
    counts = np.unique(np.linspace(0, len(layer_of), CURVE_POINTS + 1).round().astype(int)).tolist()
    masks = [
        tf.Variable(tf.ones([int((layer_of == layer).sum())]))
        for layer in range(len(get_layers(network.encoder)))
    ]
    points = [{"heads_out": count} for count in counts]
    with apply_masks(network.encoder, heads=masks):
        predictor = Predictor(tf.distribute.get_strategy(), network, per_position=task.per_position)
        for name, order in orders.items():
            for point, count in zip(points, counts, strict=True):
                stays = np.ones(len(layer_of), np.float32)
                stays[order[:count]] = 0
                for layer, mask in enumerate(masks):
                    mask.assign(stays[layer_of == layer])
                outputs = predictor(
                    task.eval_features, task.eval_batch_size, f"without {count} heads"
                )
                point[name] = float(task.score(outputs)[task.metric])
    return points


def _trace(function):
    return tf.function(
        tf.autograph.experimental.do_not_convert(function), autograph=False, reduce_retracing=True
    )


def _read_groups(items, unit):
    """Yields lists of NUM_SORTED_TEXTS items, with a progress bar. `unit`: Name of an item."""
    with tqdm(desc=f"{unit}s", unit=unit, dynamic_ncols=True) as progress:
        while group := list(itertools.islice(items, NUM_SORTED_TEXTS)):
            yield group
            progress.update(len(group))


def _write(folder, heads, measures, dependencies):
    """Writes the tables and plots of measures, float64 [LN, ME], and of Dependencies, or None.

    Prints relations.
    """
    _write_table(
        folder,
        "heads.tsv",
        [
            {"layer": layer, "head": head, **dict(zip(behaviors.NAMES, values, strict=True))}
            for (layer, head), values in zip(heads, measures, strict=True)
        ],
    )
    _write_numbers(folder, heads, measures, dependencies)
    _plot_measures(folder, heads, measures)
    relations = dependencies.find_best(heads) if dependencies else []
    if not relations:
        return
    _write_table(folder, "relations.tsv", relations)
    _plot_relations(folder, relations)
    rows = [
        [
            row["relation"],
            row["direction"],
            f"{row['cases']:,}",
            f"{row['layer']}.{row['head']}",
            f"{row['accuracy']:.3f}",
            "-" if math.isnan(row["held_out"]) else f"{row['held_out']:.3f}",
            f"{row['offset']:+}",
            f"{row['offset_accuracy']:.3f}",
        ]
        for row in _choose_directions(relations, NUM_PRINTED_RELATIONS)
    ]
    print(
        format_table(
            [
                "relation",
                "direction",
                "cases",
                "head",
                "accuracy",
                "held out",
                "offset",
                "accuracy",
            ],
            rows,
            num_left=2,
        )
    )


def _remove_earlier(settings, is_written):
    """Removes files of an earlier analysis that this one does not write.

    `is_written`: Dict of name to bool.
    """
    for name in files.at(settings.output_dir).names():
        if re.fullmatch(settings.written, name) and not is_written.get(
            name.partition(".")[0], True
        ):
            files.at(os.path.join(settings.output_dir, name)).remove()


def _write_importance(folder, by_head, curve, metric):
    """Writes, plots, and prints the results of `_measure_curve`."""
    _write_table(folder, "importance.tsv", by_head)
    _write_table(folder, "curve.tsv", curve)
    _plot_curve(folder, curve, metric)
    for name in list(curve[0])[1:]:
        print(
            f"{metric}, heads pruned by {name}: "
            + ", ".join(f"{point['heads_out']}: {point[name]:.3f}" for point in curve)
        )


def _write_table(folder, name, rows):
    """Writes dicts with the same keys, which are the header.

    Writes float with five digits after the point, and NaN as an empty string."""

    def format_cell(value):
        if isinstance(value, float | np.floating):
            return "" if math.isnan(value) else f"{value:.5f}"
        return " ".join(str(value).split())

    with new_file(os.path.join(folder, name)) as file:
        for cells in (rows[0], *(row.values() for row in rows)):
            file.write("\t".join(map(format_cell, cells)) + "\n")


def _write_numbers(folder, heads, measures, dependencies):
    """Writes analysis.npz. `dependencies`: Dependencies, or None.

    heads: int64 [LN, 2]; measure_names: str [ME]; measures: float64 [LN, ME]; with a treebank
    relations: str [RE], hits: int64 [2 directions, 2 halves, RE, LN], cases: int64 [2 halves, RE],
    offsets: int64 [OF], offset_hits: int64 [2 halves, RE, OF].
    """
    arrays = {
        "heads": np.array(heads, np.int64),
        "measure_names": np.array(behaviors.NAMES),
        "measures": measures,
    }
    if dependencies:
        arrays |= {
            "relations": np.array(dependencies.relations),
            "hits": dependencies.hits,
            "cases": dependencies.cases,
            "offsets": OFFSETS,
            "offset_hits": dependencies.offsets,
        }
    with new_file(os.path.join(folder, "analysis.npz"), "wb") as file:
        np.savez(file, **arrays)


def _plot_measures(folder, heads, values):
    """Plots one panel per measure with one cell per head. `values`: float64 [LN, ME]."""
    shown = [
        index for index in range(len(behaviors.MEASURES)) if not np.isnan(values[:, index]).all()
    ]
    rows, columns = (1 + max(column) for column in zip(*heads, strict=True))
    down = -(-len(shown) // COLUMNS)
    figure = plots.create_figure(figsize=(3.2 * COLUMNS, 0.8 + 2.6 * down), layout="constrained")
    panels = figure.subplots(down, COLUMNS, squeeze=False).ravel()
    for panel, index in zip(panels, shown, strict=False):
        table = np.full((rows, columns), np.nan)
        table[tuple(np.transpose(heads))] = values[:, index]
        highest = max(1.0, np.nanmax(table)) if not behaviors.MEASURES[index].is_behavior else 1.0
        image = panel.imshow(table, cmap="Blues", vmin=0, vmax=highest, aspect="auto")
        panel.set(title=behaviors.MEASURES[index].title, xlabel="head", ylabel="layer")
        for axis in (panel.xaxis, panel.yaxis):
            axis.set_major_locator(MaxNLocator(integer=True))
        figure.colorbar(image)
    for panel in panels[len(shown) :]:
        panel.set_axis_off()
    plots.save_figure(figure, os.path.join(folder, "measures.png"))


def _choose_directions(relations, max_relations):
    """Returns the better direction of each of the most frequent relations.

    The relations are from Dependencies.find_best.
    """
    names = list(dict.fromkeys(row["relation"] for row in relations))[:max_relations]
    return [
        max((row for row in relations if row["relation"] == name), key=lambda row: row["accuracy"])
        for name in names
    ]


def _plot_relations(folder, relations):
    """Plots the best head and the best offset for the most frequent relations.

    See Dependencies.find_best.
    """
    rows = _choose_directions(relations, MAX_RELATIONS)
    figure = plots.create_figure(figsize=(9, 1.5 + 0.34 * len(rows)), layout="constrained")
    panel = figure.subplots()
    heights = np.arange(len(rows))
    for shift, label, color, prefix in (
        (-0.2, "best head", "C0", ""),
        (0.2, "best offset", "C7", "offset_"),
    ):
        values, low, high = (
            np.array([row[prefix + name] for row in rows]) for name in ("accuracy", "low", "high")
        )
        errors = [np.maximum(values - low, 0), np.maximum(high - values, 0)]
        panel.barh(heights + shift, values, 0.4, xerr=errors, label=label, color=color)
    panel.set_yticks(
        heights,
        [f"{row['relation']} ({row['cases']:,}): {row['layer']}.{row['head']}" for row in rows],
    )
    panel.set_ylim(len(rows) - 0.4, -0.6)  # The first is at the top.
    panel.set(
        xlim=(0, 1),
        xlabel="fraction of cases, with 95% confidence intervals",
        title="relation (cases): best head, in the better direction",
    )
    panel.legend()
    plots.save_figure(figure, os.path.join(folder, "relations.png"))


def _plot_curve(folder, curve, metric):
    """Plots the score by number of pruned heads. `curve`: See `_measure_curve`."""
    counts, by_importance, *others = zip(*(point.values() for point in curve), strict=True)
    figure = plots.create_figure(figsize=(8, 5), layout="constrained")
    panel = figure.subplots()
    panel.plot(counts, by_importance, "o-", label="least important first")
    panel.plot(
        counts,
        np.mean(others, axis=0),
        "s--",
        color="C7",
        label=f"random order, mean of {len(others)}",
    )
    panel.fill_between(
        counts, np.min(others, axis=0), np.max(others, axis=0), color="C7", alpha=0.25
    )
    panel.set(
        xlabel=f"number of pruned heads (of {counts[-1]})", ylabel=metric.removeprefix("eval_")
    )
    panel.legend()
    plots.save_figure(figure, os.path.join(folder, "curve.png"))
