"""Labelled words of files, and their vectors of all layers of a model."""

import dataclasses
import itertools
import sys

import numpy as np
import tensorflow as tf
from seqeval.metrics.sequence_labeling import get_entities
from tqdm import tqdm

from bert_tf.errors import InputError
from bert_tf.files import LineDecoder, garbled_note
from data_prep.tasks import conll, treebank
from run.attention.corpus import reading

VECTOR_TYPE = np.float16  # of the vectors that are kept: half the memory, and no probe sees the difference


@dataclasses.dataclass(frozen=True)
class LabelledWords:
    """The words of a file and what is to be read off them. Legend: T words, E examples, A words of an example.

    Attributes:
      forms: list of T str.
      vectors: [T, K, H].
      places: int [E, A]: the word; the word and its head; or the first and the last word of a span.
      labels: list of E str.
    """

    forms: list
    vectors: np.ndarray
    places: np.ndarray
    labels: list


def read(argument, path, settings, encoder, tokenizer):
    """Reads a file and puts its sentences through a model.

    Args:
      argument: name of the argument that `path` is of.
      path: of the file.
      settings: ProbeLayersSettings.
      encoder: BertEncoder that keeps padding.
      tokenizer: BertTokenizer.

    Returns:
      LabelledWords. Sentences that are longer than `max_seq_length` are left out.

    Raises:
      InputError: as the readers'; no sentence is short enough, or none has what is asked for.
    """
    decoder = LineDecoder()
    sentences = _first_words(_sentences(path, settings, decoder), settings.max_train_words)
    decoder.tell(path)
    outputs = tf.function(
        tf.autograph.experimental.do_not_convert(lambda features, words: _word_vectors(encoder, features, words)),
        autograph=False, reduce_retracing=True)
    kept, vectors, forms, places, labels = set(), [], [], [], []
    batches = reading.sentence_batches(tokenizer, sentences, settings.tokenizer.max_seq_length, settings.batch_size)
    with tqdm(total=len(sentences), desc=path, unit="sentence", dynamic_ncols=True) as bar:
        for rows, features, words, _ in batches:
            found = outputs(features, words).numpy().astype(VECTOR_TYPE)  # [B, W, K, H]
            for row, of_sentence in zip(rows, found, strict=True):
                sentence, start = sentences[row], len(forms)
                kept.add(row)
                vectors.append(of_sentence[: len(sentence.words)])
                forms += sentence.words
                for word, example in enumerate(_examples(sentence, settings.label)):
                    if example is not None:
                        places.append([start + word] + [start + other for other in example[1]])
                        labels.append(example[0])
            bar.update(len(rows))
    if not labels:
        raise InputError(f"`{argument}`={path}: has no sentence of up to `max_seq_length`="
                         f"{settings.tokenizer.max_seq_length} pieces with words to read off")
    if len(kept) < len(sentences):
        print(f"{path}: {len(sentences) - len(kept):,} sentences longer than --max_seq_length="
              f"{settings.tokenizer.max_seq_length} are left out")
    return LabelledWords(forms, np.concatenate(vectors), np.array(places), labels)


def _sentences(path, settings, decoder):
    """Yields the treebank.Sentences of a file; of one with columns without a tree. decoder: of a treebank's lines."""
    if settings.reads_treebanks:
        yield from treebank.read_sentences(path, decoder)
        return
    read = conll.read_sentences(path, settings.token_column, settings.label_column)
    if read.num_garbled:
        print(f"{path}: {garbled_note(read.num_garbled)}", file=sys.stderr)
    if settings.label == "spans" and not conll.are_entity_labels(set(itertools.chain(*read.labels))):
        raise InputError(f"`label`=spans: the labels of {path} are not those of entities, as O, B-PER and I-PER")
    for words, labels in zip(read.words, read.labels, strict=True):
        yield treebank.Sentence(words, labels, [treebank.ROOT] * len(words), [""] * len(words))


def _first_words(sentences, most):
    """The first sentences, of `most` words together, or of one sentence."""
    taken, count = [], 0
    for sentence in sentences:
        if taken and count + len(sentence.words) > most:
            break
        taken.append(sentence)
        count += len(sentence.words)
    return taken


def _examples(sentence, label):
    """For each word its label and the words, beside itself, that it is read off; None where it has none.

    A span's label is that of its first word.
    """
    if label == "tags":
        return [(tag, []) for tag in sentence.tags]
    if label == "spans":
        found = [None] * len(sentence.words)
        for kind, first, last in get_entities(sentence.tags):
            found[first] = kind, [last]
        return found
    return [None if head == treebank.ROOT else (relation, [head])
            for relation, head in zip(sentence.relations, sentence.heads, strict=True)]


def _word_vectors(encoder, features, words):
    """The mean of each word's pieces in each layer: float32 [B, W, K, H].

    Args:
      encoder: BertEncoder.
      features: dict of int32 [B, S].
      words: the number of each piece's word, int32 [B, S], -1 of none.
    """
    outputs = encoder(features)
    layers = tf.stack([outputs["embedding_output"], *outputs["encoder_outputs"]], axis=2)  # [B, S, K, H]
    belongs = tf.one_hot(words, tf.reduce_max(words) + 1, dtype=tf.float32)  # [B, S, W]
    pieces = tf.reduce_sum(belongs, axis=1)  # [B, W]
    summed = tf.einsum("bsw,bskh->bwkh", belongs, tf.cast(layers, tf.float32))
    return tf.math.divide_no_nan(summed, pieces[:, :, tf.newaxis, tf.newaxis])


def control_labels(train, dev, seed):
    """Labels that say nothing: one for each form, drawn by how often the labels are (Hewitt and Liang 2019).

    Args:
      train, dev: LabelledWords.
      seed: int of 0 or more.

    Returns:
      Two lists of str, for the examples of both.
    """
    rng = np.random.default_rng(seed)
    labels, counts = np.unique(train.labels, return_counts=True)
    forms = [[words.forms[place] for place in words.places[:, 0]] for words in (train, dev)]
    distinct = sorted(set(itertools.chain(*forms)))
    drawn = dict(zip(distinct, rng.choice(labels, len(distinct), p=counts / counts.sum()), strict=True))
    return tuple([str(drawn[form]) for form in of_file] for of_file in forms)
