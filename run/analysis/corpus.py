"""The job of run.analyze_attention: describes the behavior of each head over a corpus and a treebank."""

import itertools
import math
import os
import re

import tensorflow as tf
from tqdm import tqdm

from bert_tf import files
from bert_tf.analysis import behaviors
from bert_tf.cli.tables import format_table
from bert_tf.errors import InputError
from run.analysis import corpus_results, importance, reading
from run.analysis.observing import Observer, compute_means
from run.analysis.syntax import Dependencies
from run.finetuning.fine_tuned_model import FineTunedModel

WINDOW = 512  # Number of texts to sort by length together.
NUM_PRINTED_RELATIONS = 12  # Number of relations to print.


def run(settings):
    """Reads all inputs and writes the results.

    Args:
      settings: AnalyzeAttentionSettings, resolved.

    Raises:
      InputError: See Observer. Also if a file is invalid or empty, or if the data do not match the model.
    """
    fine_tuned = FineTunedModel.open(settings) if settings.importance_examples else None
    observer = Observer(settings, answers=False)
    if not any(True for _ in reading.read_texts(settings.input_file, settings.treebank)):
        raise InputError(f"`input_file`={settings.input_file}: contains no text")
    dependencies = None
    if settings.treebank:  # An error must not come after hours.
        decoder = files.LineDecoder()
        names = dict.fromkeys(name for sentence in reading.read_sentences(settings.treebank, decoder)
                              for name in sentence.relations)
        decoder.tell(settings.treebank)
        dependencies = Dependencies(list(names), len(observer.heads))
    measures, num_texts, num_cut = _measure_texts(observer, settings)
    num_sentences, num_skipped = _add_sentences(dependencies, observer, settings) if dependencies else (0, 0)
    curve = importance.measure_curve(fine_tuned, settings.importance_examples) if fine_tuned else None
    folder = settings.output_dir
    _write(folder, observer.heads, measures, dependencies)
    if curve:
        _write_importance(folder, *curve, fine_tuned.task.metric)
    _remove_earlier(settings, {"relations": bool(dependencies), "importance": bool(curve), "curve": bool(curve)})
    sentences = f", {num_sentences:,} sentences" if dependencies else ""
    notes = [f"; truncated texts: {num_cut:,}"] * bool(num_cut)
    notes += [f"; sentences skipped as too long: {num_skipped:,}"] * bool(num_skipped)
    print(f"{folder}: {num_texts:,} texts{sentences}{''.join(notes)}")


def _measure_texts(observer, settings):
    """Returns the means of all measures, float64 [K, M], and the numbers of texts and of truncated texts."""
    def compute_sums(features):
        return observer.sum_measures(observer.compute_attention(features), features)

    rows = tf.TensorSpec([None, None], tf.int32)
    step = _trace(compute_sums, dict.fromkeys(("input_ids", "input_mask", "segment_ids"), rows))
    sums, num_texts, num_cut = (0.0, 0.0), 0, 0
    decoder = files.LineDecoder()
    for window in _read_windows(reading.read_texts(settings.input_file, settings.treebank, decoder), "text"):
        for features, was_cut in reading.text_batches(
                observer.tokenizer, window, observer.metadata.max_seq_length, settings.batch_size):
            sums = [total + value.numpy().astype(float) for total, value in zip(sums, step(features), strict=True)]
            num_cut += int(was_cut.sum())
        num_texts += len(window)
    decoder.tell(settings.input_file)
    return compute_means(*sums), num_texts, num_cut


def _add_sentences(dependencies, observer, settings):
    """Adds all sentences to Dependencies; returns the numbers of sentences and of skipped ones, which are too long."""
    def find_hits(features, words, heads):
        attention = [behaviors.word_attention(each, words, tf.shape(heads)[1])
                     for each in observer.compute_attention(features)]
        return tf.concat([behaviors.hits(each, heads) for each in attention], axis=2)

    rows = tf.TensorSpec([None, None], tf.int32)
    step = _trace(find_hits, dict.fromkeys(("input_ids", "input_mask", "segment_ids"), rows), rows, rows)
    num_sentences = num_read = 0
    for window in _read_windows(reading.read_sentences(settings.treebank), "sentence"):
        for places, features, words, heads in reading.sentence_batches(
                observer.tokenizer, window, observer.metadata.max_seq_length, settings.batch_size):
            dependencies.add(num_sentences + places, [window[place].relations for place in places], heads.numpy(),
                             step(features, words, heads).numpy())
            num_read += len(places)
        num_sentences += len(window)
    return num_sentences, num_sentences - num_read


def _trace(function, *specs):
    return tf.function(tf.autograph.experimental.do_not_convert(function), input_signature=specs, autograph=False)


def _read_windows(items, unit):
    """Yields lists of WINDOW items, with a progress bar. `unit`: Name of an item."""
    with tqdm(desc=f"{unit}s", unit=unit, dynamic_ncols=True) as progress:
        while window := list(itertools.islice(items, WINDOW)):
            yield window
            progress.update(len(window))


def _write(folder, heads, measures, dependencies):
    """Writes the tables and plots of measures, float64 [K, M], and of Dependencies, or None; prints relations."""
    corpus_results.write_table(folder, "heads.tsv", [
        {"layer": layer, "head": head, **dict(zip(behaviors.NAMES, values, strict=True))}
        for (layer, head), values in zip(heads, measures, strict=True)])
    corpus_results.write_numbers(folder, heads, measures, dependencies)
    corpus_results.draw_measures(folder, heads, measures)
    relations = dependencies.find_best(heads) if dependencies else []
    if not relations:
        return
    corpus_results.write_table(folder, "relations.tsv", relations)
    corpus_results.draw_relations(folder, relations)
    rows = [[row["relation"], row["direction"], f"{row['cases']:,}", f"{row['layer']}.{row['head']}",
             f"{row['accuracy']:.3f}", "-" if math.isnan(row["held_out"]) else f"{row['held_out']:.3f}",
             f"{row['offset']:+}", f"{row['offset_accuracy']:.3f}"]
            for row in corpus_results.choose_directions(relations, NUM_PRINTED_RELATIONS)]
    print(format_table(["relation", "direction", "cases", "head", "accuracy", "held out", "offset", "accuracy"], rows,
                       num_left=2))


def _remove_earlier(settings, is_written):
    """Removes files of an earlier analysis that this one does not write; is_written: dict of name to bool."""
    for name in files.at(settings.output_dir).names():
        if re.fullmatch(settings.written, name) and not is_written.get(name.partition(".")[0], True):
            files.at(os.path.join(settings.output_dir, name)).remove()


def _write_importance(folder, by_head, curve, metric):
    """Writes, plots, and prints the results of `importance.measure_curve`."""
    corpus_results.write_table(folder, "importance.tsv", by_head)
    corpus_results.write_table(folder, "curve.tsv", curve)
    corpus_results.draw_curve(folder, curve, metric)
    for name in list(curve[0])[1:]:
        print(f"{metric}, heads pruned by {name}: "
              + ", ".join(f"{point['heads_out']}: {point[name]:.3f}" for point in curve))
