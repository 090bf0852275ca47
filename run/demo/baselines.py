"""Baselines for the demo's results: prediction by frequency."""

import collections
import csv

import numpy as np
import tensorflow as tf

from data_prep import records


def unigram_loss(tokenizer, corpus_file, record_file, features):
    """Computes the mean loss, in nats, of predicting masked tokens by their frequency in a corpus.

    Counts are smoothed by one, so that a token that the corpus lacks has a finite loss.

    Args:
      tokenizer: BertTokenizer.
      corpus_file: Path of the text to count.
      record_file: Path of a TFRecord file of pre-training records.
      features: Features from data_prep.records.pretraining_features.
    """
    with open(corpus_file, encoding="utf-8") as file:
        ids = tokenizer.tokenize(file.read().splitlines()).flat_values.numpy()
    counts = np.bincount(ids, minlength=tokenizer.vocab_size) + 1
    losses = -np.log(counts / counts.sum())
    parsed = _read(record_file, features)
    return float(losses[parsed["masked_lm_ids"][parsed["masked_lm_weights"] > 0]].mean())


def majority_next_sentence(record_file, features):
    """Computes the accuracy of always predicting the more common next-sentence label."""
    labels = _read(record_file, features)["next_sentence_labels"]
    return float(max(labels.mean(), 1 - labels.mean()))


def majority_label(train_file, dev_file):
    """Computes the accuracy on a dev TSV of the most common label of the training TSV; also returns that label."""
    label = collections.Counter(_labels(train_file)).most_common(1)[0][0]
    dev = _labels(dev_file)
    return dev.count(label) / len(dev), label


def _read(record_file, features):
    serialized = next(iter(tf.data.TFRecordDataset(record_file).batch(1_000_000)))
    return {name: value.numpy() for name, value in records.parse(serialized, features).items()}


def _labels(path):
    with open(path, encoding="utf-8", newline="") as file:
        return [row["label"] for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]
