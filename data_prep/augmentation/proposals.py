"""What may stand in for a word: what a masked LM expects in its place, or what its word table has beside it.

Shape legend: N words, V vocabulary, H hidden, K candidates, S sequence.
"""

import numpy as np
import tensorflow as tf

from bert_tf.tokenization.model_inputs import FEATURES

WORDS_AT_A_TIME = 256  # of those that are compared with the whole table


class MaskedLMProposals:
    """Proposes what a masked LM expects where a word of one piece is masked.

    The model sees a pair: the text with [MASK] in place of the word, and the text as it is. So what it expects fits
    the place and is akin to the word (TinyBERT, section 3.3 and its code).

    Args:
      model: BertPretrainer.
      tokenizer: PlainTokenizer.
      allowed: bool [V], the entries that may be proposed.
      num_candidates: K.
      max_seq_length: most pieces of such a pair.
      batch_size: pairs in a batch.
    """

    def __init__(self, model, tokenizer, allowed, num_candidates, max_seq_length, batch_size):
        self._tokenizer, self._batch_size = tokenizer, batch_size
        self._room = (max_seq_length - 3) // 2  # of each half of a pair
        bias = tf.constant(np.where(allowed, 0, -np.inf), tf.float32)

        @tf.function(reduce_retracing=True, autograph=False, input_signature=[
            dict.fromkeys((*FEATURES, "masked_lm_positions"), tf.TensorSpec([None, None], tf.int32))])
        def best(features):
            logits = model(features)["masked_lm_logits"][:, 0, : len(allowed)]  # [N, V]
            return tf.math.top_k(logits + bias, num_candidates).indices
        self._best = best

    def __call__(self, words):
        """words: list of (ids of a text, Word of it) -> int32 [N, K], likeliest first."""
        pairs = [self._pair(ids, word.first) for ids, word in words]
        order = np.argsort([len(ids) for ids, _, _ in pairs], kind="stable")
        found = []
        for start in range(0, len(order), self._batch_size):
            found.append(self._best(self._features([pairs[each] for each in order[start : start + self._batch_size]])))
        proposed = np.concatenate(found)
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        return proposed[back]

    def _pair(self, ids, place):
        """(ids of the pair, length of its first segment, where the [MASK] is); place: of the word among ids."""
        start = max(0, min(place - self._room // 2, len(ids) - self._room))
        window = ids[start : start + self._room]
        masked = [*window]
        masked[place - start] = self._tokenizer.mask_id
        first = [self._tokenizer.cls_id, *masked, self._tokenizer.sep_id]
        return [*first, *window, self._tokenizer.sep_id], len(first), place - start + 1

    def _features(self, pairs):
        """What the model takes, dict of int32 [N, S]."""
        length = max(len(ids) for ids, _, _ in pairs)
        features = {name: np.zeros([len(pairs), length], np.int32) for name in FEATURES}
        for row, (ids, first, _) in enumerate(pairs):
            features["input_ids"][row, : len(ids)] = ids
            features["input_mask"][row, : len(ids)] = 1
            features["segment_ids"][row, first : len(ids)] = 1
        features["masked_lm_positions"] = np.array([[place] for _, _, place in pairs], np.int32)
        return features


class WordTableProposals:
    """Proposes the entries of the word table that are nearest to a word, by cosine.

    The vector of a word is the mean of those of its pieces. What was proposed for a word is remembered.

    Args:
      table: float32 [V, H].
      allowed: bool [V], the entries that may be proposed.
      num_candidates: K.
    """

    def __init__(self, table, allowed, num_candidates):
        self._table, self._num_candidates = table, num_candidates
        self._allowed = np.flatnonzero(allowed)
        rows = table[self._allowed]
        self._rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
        self._known = {}  # ids of a word -> int32 [K]

    def __call__(self, words):
        """words: list of (ids of a text, Word of it) -> int32 [N, K], nearest first."""
        new = list(dict.fromkeys(word.ids for _, word in words if word.ids not in self._known))
        for start in range(0, len(new), WORDS_AT_A_TIME):
            asked = new[start : start + WORDS_AT_A_TIME]
            vectors = np.stack([self._table[[*ids]].mean(axis=0) for ids in asked])
            self._known |= zip(asked, self._nearest(vectors), strict=True)
        return np.stack([self._known[word.ids] for _, word in words])

    def _nearest(self, vectors):
        """Vectors float32 [N, H] -> int32 [N, K]."""
        likeness = vectors @ self._rows.T  # the length of a vector does not change its order
        nearest = np.argpartition(-likeness, self._num_candidates - 1, axis=1)[:, : self._num_candidates]
        nearest.sort(axis=1)  # those that are equally near in the order of their ids
        order = np.argsort(-np.take_along_axis(likeness, nearest, axis=1), axis=1, kind="stable")
        return self._allowed[np.take_along_axis(nearest, order, axis=1)].astype(np.int32)
