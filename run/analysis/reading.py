"""Texts and treebanks to analyze, and their batches."""

import dataclasses
import re

import numpy as np
import tensorflow as tf

from bert_tf import files
from bert_tf.errors import InputError
from bert_tf.features import FEATURES
from bert_tf.tokenization.model_inputs import join_rows
from data_prep.datasets import conll
from run.inference import request_files

# Maximum number of texts times their squared length, which bounds the memory of a batch.
MAX_PAIRS = 1 << 18
ROOT = -1  # Head of the word without a head.
TEXT = re.compile(r"#\s*text\s*=\s*(.*)")  # Comment with the original text of a sentence.


@dataclasses.dataclass(frozen=True)
class Sentence:
    """A sentence of W words.

    Attributes:
      words: List of str.
      tags: List of str. Universal parts of speech.
      heads: List of int. 0-based number of each word's head, or ROOT.
      relations: List of str. Relation of each word to its head.
      text: str or None. Original text of the sentence, if the file contains it.
    """

    words: list
    tags: list
    heads: list
    relations: list
    text: str | None = None

    def align(self):
        """Finds the words in the text.

        Returns:
          List of W int, the character at which each word begins; None if there is no text, or if it
          is not the forms of the words, in sequence, with or without spaces between them.
        """
        words = [f"({re.escape(word)})" for word in self.words]
        match = self.text is not None and re.fullmatch(r"\s*".join(["", *words, ""]), self.text)
        return [match.start(number) for number in range(1, len(words) + 1)] if match else None


def read_parsed_sentences(path):
    """Yields the Sentences of a treebank. Invalid UTF-8 bytes are dropped, with a note at the end.

    Raises:
      InputError: See `conll.select_words`; and if a head is not a word of the sentence, or if there
        are no sentences. The message names the file, and the line if applicable.
    """
    is_empty = True
    decoder = files.LineDecoder()
    for block in conll.group_rows(conll.read_conll_rows(path, decoder)):
        if not (words := conll.select_words(path, block)):
            continue
        is_empty = False
        for line, columns in words:
            if columns[6] not in map(str, range(len(words) + 1)):
                raise InputError(
                    f"{path}:{line}: HEAD {columns[6]!r}: must be a number from 0 to {len(words)}"
                )
        forms, tags, heads, relations = (
            [columns[number] for _, columns in words] for number in (1, 3, 6, 7)
        )
        texts = [match[1] for _, row in block if (match := TEXT.fullmatch(row))]
        yield Sentence(
            forms, tags, [int(head) - 1 for head in heads], relations, texts[-1] if texts else None
        )
    if is_empty:
        raise InputError(f"{path}: contains no sentences")
    decoder.tell(path)


def read_corpus(path, treebank_path, options=request_files.DEFAULT):
    """Returns an iterator of (text_a, text_b) for the lines or rows of a file, or for a treebank.

    It skips those without text. The texts of a treebank are its sentences.

    Args:
      path: Path of the file. None for the treebank.
      treebank_path: Path of the treebank.
      options: request_files.RequestOptions.
    """
    if path:
        return (pair for pair in request_files.read_texts(path, options) if any(pair))
    return (
        (sentence.text or " ".join(sentence.words), "")
        for sentence in read_parsed_sentences(treebank_path)
    )


def text_batches(tokenizer, texts, max_seq_length, batch_size):
    """Yields the batches of a list of (text_a, text_b): features int32 [B, S], bool was_cut [B]."""
    pieces = [tokenizer.tokenize(list(column)) for column in zip(*texts, strict=True)]
    features, was_cut = join_rows(tokenizer, *pieces, max_seq_length=max_seq_length)
    features = {name: value.numpy() for name, value in features.items()}
    for indices, length in _batches(features["input_mask"].sum(axis=1), batch_size):
        yield (
            {name: tf.constant(features[name][indices, :length]) for name in FEATURES},
            was_cut.numpy()[indices],
        )


def sentence_batches(tokenizer, sentences, max_seq_length, batch_size):
    """Yields a list of Sentences in batches; omits sentences that are too long.

    Tokenizes the text of a sentence. If it has no text, if the text differs from its words, or if a
    word would have no separate token, tokenizes its words one at a time, as a tagger does.

    Yields:
      Positions in the list, int [B]; features int32 [B, S]; the index of each token's word, int32
      [B, S], -1 if none; the index of each word's head, int32 [B, WO], -1 if none.
    """
    rows = [
        ([tokenizer.cls_id, *ids, tokenizer.sep_id], [-1, *numbers, -1])
        for ids, numbers in _align_tokens(tokenizer, sentences)
    ]
    sizes = np.array([len(ids) for ids, _ in rows])
    for indices, length in _batches(sizes, batch_size, max_seq_length):
        input_ids = np.full([len(indices), length], tokenizer.pad_id, np.int32)
        words = np.full([len(indices), length], -1, np.int32)
        heads = np.full(
            [len(indices), max(len(sentences[index].words) for index in indices)], ROOT, np.int32
        )
        for row, index in enumerate(indices):
            input_ids[row, : sizes[index]], words[row, : sizes[index]] = rows[index]
            heads[row, : len(sentences[index].heads)] = sentences[index].heads
        mask = (np.arange(length) < sizes[indices, np.newaxis]).astype(np.int32)
        yield (
            indices,
            {
                "input_ids": tf.constant(input_ids),
                "input_mask": tf.constant(mask),
                "segment_ids": tf.zeros_like(mask),
            },
            tf.constant(words),
            tf.constant(heads),
        )


def _align_tokens(tokenizer, sentences):
    """Yields the token IDs of each Sentence and the number of each token's word, lists of int."""
    texts = tokenizer.tokenize_with_offsets([sentence.text or "" for sentence in sentences])
    flat = iter(
        tokenizer.tokenize([word for sentence in sentences for word in sentence.words]).to_list()
    )
    for sentence, ids, starts in zip(
        sentences, texts.ids.to_list(), texts.char_starts.to_list(), strict=True
    ):
        # As in a tagger, a word without any token, for example of control characters, is [UNK].
        words = [next(flat) or [tokenizer.unk_id] for _ in sentence.words]
        if word_starts := sentence.align():
            # A token that is parts of two words ("don" of "do" and "n't") belongs to the word in
            # which it begins.
            numbers = (np.searchsorted(word_starts, starts, side="right") - 1).tolist()
            if set(numbers) == set(range(len(words))):
                yield ids, numbers
                continue
        yield (
            [id_ for word in words for id_ in word],
            [number for number, word in enumerate(words) for _ in word],
        )


def _batches(lengths, batch_size, max_length=None):
    """Yields positions, int [B], of similar lengths, and their maximum length.

    Omits those over `max_length`.
    """
    order = [
        index
        for index in np.argsort(lengths, kind="stable")
        if max_length is None or lengths[index] <= max_length
    ]
    while order:
        # Longest first, since the longest text determines the size of a batch.
        length = int(lengths[order[-1]])
        size = max(1, min(batch_size, MAX_PAIRS // length**2))
        yield np.array(order[-size:]), length
        del order[-size:]
