"""Windows of a corpus and of a treebank, sorted by length, as batches of features."""


import numpy as np
import tensorflow as tf

from bert_tf.tokenization.model_inputs import FEATURES, pack
from run.analysis import trees
from run.serving import extraction

WINDOW = 512  # Number of texts to sort by length together.
MAX_PAIRS = 1 << 18  # Maximum number of texts times their squared length, which bounds the memory of a batch.


def read_texts(path, treebank_path, decoder=None):
    """Returns an iterator of (text_a, text_b) for the non-empty lines of a file, or for the sentences of a treebank.

    Args:
      path: Path of the file. None for the treebank.
      treebank_path: Path of the treebank.
      decoder: bert_tf.files.LineDecoder, which counts lines with invalid bytes. May be None.
    """
    if path:
        return (pair for pair in extraction.read_texts(path, decoder) if any(pair))
    return ((sentence.text or " ".join(sentence.words), "") for sentence in trees.read_sentences(treebank_path))


def text_batches(tokenizer, window, max_seq_length, batch_size):
    """Yields the batches of a window: features int32 [B, S], bool was_cut [B]."""
    pieces = [tokenizer.tokenize(list(column)) for column in zip(*window, strict=True)]
    features, was_cut = pack(tokenizer, *pieces, max_seq_length=max_seq_length)
    features = {name: value.numpy() for name, value in features.items()}
    for places, length in _batches(features["input_mask"].sum(axis=1), batch_size):
        yield {name: tf.constant(features[name][places, :length]) for name in FEATURES}, was_cut.numpy()[places]


def sentence_batches(tokenizer, window, max_seq_length, batch_size):
    """Yields the sentences of a window in batches; omits sentences that are too long.

    Tokenizes the text of a sentence. If it has no text, if the text differs from its words, or if a word would have no
    separate token, tokenizes its words one at a time, as a tagger does.

    Yields:
      Positions in the window, int [B]; features int32 [B, S]; the index of each token's word, int32 [B, S], -1 if none;
      the index of each word's head, int32 [B, W], -1 if none.
    """
    rows = [([tokenizer.cls_id, *ids, tokenizer.sep_id], [-1, *numbers, -1])
            for ids, numbers in _align_tokens(tokenizer, window)]
    sizes = np.array([len(ids) for ids, _ in rows])
    for places, length in _batches(sizes, batch_size, max_seq_length):
        input_ids = np.full([len(places), length], tokenizer.pad_id, np.int32)
        words = np.full([len(places), length], -1, np.int32)
        heads = np.full([len(places), max(len(window[place].words) for place in places)], trees.ROOT, np.int32)
        for row, place in enumerate(places):
            input_ids[row, : sizes[place]], words[row, : sizes[place]] = rows[place]
            heads[row, : len(window[place].heads)] = window[place].heads
        mask = (np.arange(length) < sizes[places, np.newaxis]).astype(np.int32)
        yield places, {"input_ids": tf.constant(input_ids), "input_mask": tf.constant(mask),
                       "segment_ids": tf.zeros_like(mask)}, tf.constant(words), tf.constant(heads)


def _align_tokens(tokenizer, window):
    """Yields the token IDs of each Sentence and the number of each token's word, lists of int."""
    texts = tokenizer.tokenize_with_offsets([sentence.text or "" for sentence in window])
    flat = iter(tokenizer.tokenize([word for sentence in window for word in sentence.words]).to_list())
    for sentence, ids, starts in zip(window, texts.ids.to_list(), texts.char_starts.to_list(), strict=True):
        # As in a tagger, a word without any token, for example of control characters, is [UNK].
        words = [next(flat) or [tokenizer.unk_id] for _ in sentence.words]
        if word_starts := sentence.align():
            # A token that is parts of two words ("don" of "do" and "n't") belongs to the word in which it begins.
            numbers = (np.searchsorted(word_starts, starts, side="right") - 1).tolist()
            if set(numbers) == set(range(len(words))):
                yield ids, numbers
                continue
        yield ([id_ for word in words for id_ in word],
               [number for number, word in enumerate(words) for _ in word])


def _batches(lengths, batch_size, longest=None):
    """Yields positions, int [B], of similar lengths, and their maximum length; omits those over `longest`."""
    order = [place for place in np.argsort(lengths, kind="stable") if longest is None or lengths[place] <= longest]
    while order:
        # Longest first, since the longest text determines the size of a batch.
        length = int(lengths[order[-1]])
        size = max(1, min(batch_size, MAX_PAIRS // length**2))
        yield np.array(order[-size:]), length
        del order[-size:]
