"""The job of run.analyze_attention: describes the behavior of each head over a corpus and a treebank."""

import itertools

import tensorflow as tf
from tqdm import tqdm

from bert_tf import files
from bert_tf.analysis import behaviors
from bert_tf.cli.tables import format_table
from bert_tf.errors import InputError
from run.analysis import corpus_reading, corpus_results, importance, trees
from run.analysis.corpus_sums import Sums, compute_relations
from run.analysis.observing import Observer
from run.finetuning.fine_tuned_model import FineTunedModel

DISTANCE_TEXTS = 200  # Number of texts, from the first, for comparing all pairs of heads, which is slow.
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
    if not any(True for _ in corpus_reading.read_texts(settings.input_file, settings.treebank)):
        raise InputError(f"`input_file`={settings.input_file}: contains no text")
    if settings.treebank:
        decoder = files.LineDecoder()
        for _ in trees.read_sentences(settings.treebank, decoder):  # An error must not come after hours.
            pass
        decoder.tell(settings.treebank)
    sums = Sums.empty(len(observer.heads))
    _Reader(observer, settings).run(sums)
    curve = importance.measure_curve(fine_tuned, settings.importance_examples) if fine_tuned else None
    _write(settings.output_dir, observer.heads, sums, curve)


class _Reader:
    """Runs the model on texts and sentences, and sums the behavior of its heads."""

    def __init__(self, observer, settings):
        self._encoder, self._tokenizer = observer.encoder, observer.tokenizer
        self._settings = settings
        self._max_seq_length = observer.metadata.max_seq_length
        self._is_punctuation = observer.is_punctuation
        rows = tf.TensorSpec([None, None], tf.int32)
        features = dict.fromkeys(("input_ids", "input_mask", "segment_ids"), rows)

        def trace(function, *specs):
            return tf.function(tf.autograph.experimental.do_not_convert(function), input_signature=specs,
                               autograph=False)

        self._measure = trace(self._compute_measures, features)
        self._compare = trace(lambda features: self._compute_measures(features, are_compared=True), features)
        self._find = trace(self._find_hits, features, rows, rows)

    def run(self, sums):
        """Adds all texts and sentences to Sums."""
        settings = self._settings
        decoder = files.LineDecoder()
        texts = corpus_reading.read_texts(settings.input_file, settings.treebank, decoder=decoder)
        self._add(sums, "text", texts, self._add_texts)
        decoder.tell(settings.input_file)
        if settings.treebank:
            self._add(sums, "sentence", trees.read_sentences(settings.treebank), self._add_sentences)

    def _add(self, sums, unit, items, add):
        """Adds items to Sums, window by window. `unit`: Name of an item."""
        with tqdm(desc=f"{unit}s", unit=unit, dynamic_ncols=True) as progress:
            while window := list(itertools.islice(items, corpus_reading.WINDOW)):
                add(sums, window)
                progress.update(len(window))

    def _add_texts(self, sums, window):
        compared = max(0, min(len(window), DISTANCE_TEXTS - sums.num_texts))
        for part, step in ((window[:compared], self._compare), (window[compared:], self._measure)):
            if not part:
                continue
            for features, was_cut in corpus_reading.text_batches(self._tokenizer, part, self._max_seq_length,
                                                                 self._settings.batch_size):
                totals, counts, *others = (value.numpy() for value in step(features))
                sums.totals += totals
                sums.counts += counts
                sums.num_cut += int(was_cut.sum())
                if others:
                    sums.divergences += others[0]
                    sums.num_compared += float(counts[0])
        sums.num_texts += len(window)

    def _add_sentences(self, sums, window):
        read, first = 0, sums.num_sentences
        for places, features, words, heads in corpus_reading.sentence_batches(
                self._tokenizer, window, self._max_seq_length, self._settings.batch_size):
            hits = self._find(features, words, heads).numpy()
            sums.add_dependencies(first + places, [window[place].relations for place in places], heads.numpy(), hits)
            read += len(places)
        sums.num_sentences += len(window)
        sums.num_skipped += len(window) - read

    def _compute_attention(self, features):
        attention = self._encoder(features, return_attention_scores=True)["attention"]
        return [tf.cast(each.probabilities, tf.float32) for each in attention]

    def _compute_measures(self, features, are_compared=False):
        """Returns the sums [K, M] of a batch, counts [M], and, if heads are compared, divergences [K, K]."""
        tokens = behaviors.Tokens.from_features(features, self._tokenizer, self._is_punctuation)
        attention = self._compute_attention(features)
        totals = tf.concat([behaviors.sum_measures(each, tokens) for each in attention], axis=0)
        compared = (behaviors.divergences(tf.concat(attention, axis=1), tokens.real),) if are_compared else ()
        return totals, behaviors.count_tokens(tokens), *compared

    def _find_hits(self, features, words, heads):
        """Returns bool [2, B, K, W] from bert_tf.analysis.behaviors.hits."""
        num_words = tf.shape(heads)[1]
        return tf.concat([behaviors.hits(behaviors.word_attention(each, words, num_words), heads)
                          for each in self._compute_attention(features)], axis=2)


def _write(folder, heads, sums, curve):
    """Writes tables and plots, and prints a summary.

    Args:
      folder: Path of the directory to write to.
      heads: List of (layer, head).
      sums: Sums.
      curve: run.analysis.importance.Curve, or None.
    """
    measures, relations = sums.measures(), compute_relations(sums)
    corpus_results.write_heads(folder, heads, measures)
    corpus_results.write_numbers(folder, heads, sums)
    corpus_results.draw_measures(folder, heads, measures)
    if relations:
        corpus_results.write_relations(folder, heads, relations)
        corpus_results.draw_relations(folder, heads, relations)
        _print_relations(heads, relations)
    if curve:
        corpus_results.write_curve(folder, curve)
        corpus_results.draw_curve(folder, curve)
        for name, scores in curve.scores.items():
            print(f"{curve.metric}, heads pruned by {name}: "
                  + ", ".join(f"{count}: {score:.3f}" for count, score in zip(curve.counts, scores, strict=True)))
    notes = [f"; {count:,} {what}" for count, what in (
        (sums.num_cut, "texts were truncated"), (sums.num_skipped, "sentences were skipped as too long")) if count]
    print(f"{folder}: {sums.num_texts:,} texts, {sums.num_sentences:,} sentences{''.join(notes)}")


def _print_relations(heads, relations):
    rows = []
    for name in list(dict.fromkeys(each.name for each in relations))[:NUM_PRINTED_RELATIONS]:
        each = max((each for each in relations if each.name == name), key=lambda each: each.score.value)
        layer, head = heads[each.head]
        rows.append([each.name, each.direction, f"{each.cases:,}", f"{layer}.{head}", f"{each.score.value:.3f}",
                     "-" if each.held_out is None else f"{each.held_out:.3f}", f"{each.offset:+}",
                     f"{each.baseline.value:.3f}"])
    print(format_table(["relation", "direction", "cases", "head", "accuracy", "held out", "offset", "accuracy"], rows,
                       num_left=2))
