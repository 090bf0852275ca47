"""Proposals for replacing a word: predictions of a masked LM, or nearest neighbors in its word embedding matrix.

Shape legend: N words, V vocabulary, H hidden, K candidates, S sequence.
"""

import numpy as np
import tensorflow as tf

from bert_tf.tokenization.model_inputs import FEATURES

WORDS_AT_A_TIME = 256  # Words compared with the complete embedding matrix together.


class MaskedLMProposals:
    """Proposes the predictions of a masked LM for a single-token word.

    The input is a pair: the text with [MASK] instead of the word, and the unchanged text. So the predictions fit the
    context and are related to the word (TinyBERT, section 3.3 and its code).

    Args:
      model: BertPretrainer.
      tokenizer: PlainTokenizer.
      allowed: bool [V]. True for the entries that may be proposed.
      num_candidates: int. K.
      max_seq_length: int. Maximum number of tokens in a pair.
      batch_size: int. Number of pairs per batch.
    """

    def __init__(self, model, tokenizer, allowed, num_candidates, max_seq_length, batch_size):
        self._tokenizer, self._batch_size = tokenizer, batch_size
        self._max_half = (max_seq_length - 3) // 2  # Maximum length of each half of a pair.
        bias = tf.constant(np.where(allowed, 0, -np.inf), tf.float32)

        @tf.function(reduce_retracing=True, autograph=False, input_signature=[
            dict.fromkeys((*FEATURES, "masked_lm_positions"), tf.TensorSpec([None, None], tf.int32))])
        def best(features):
            logits = model(features)["masked_lm_logits"][:, 0, : len(allowed)]  # [N, V]
            return tf.math.top_k(logits + bias, num_candidates).indices
        self._best = best

    def __call__(self, words):
        """Maps words, a list of (IDs of a text, Word in it), to int32 [N, K], most likely first."""
        pairs = [self._create_pair(ids, word.first) for ids, word in words]
        order = np.argsort([len(ids) for ids, _, _ in pairs], kind="stable")
        batches = []
        for start in range(0, len(order), self._batch_size):
            batch = [pairs[row] for row in order[start : start + self._batch_size]]
            batches.append(self._best(self._create_features(batch)))
        proposed = np.concatenate(batches)
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        return proposed[back]

    def _create_pair(self, ids, place):
        """Returns (IDs of the pair, length of its first segment, position of [MASK]). place: index of the word."""
        start = max(0, min(place - self._max_half // 2, len(ids) - self._max_half))
        window = ids[start : start + self._max_half]
        masked = [*window]
        masked[place - start] = self._tokenizer.mask_id
        first = [self._tokenizer.cls_id, *masked, self._tokenizer.sep_id]
        return [*first, *window, self._tokenizer.sep_id], len(first), place - start + 1

    def _create_features(self, pairs):
        """Returns the model's inputs, dict of int32 [N, S]."""
        length = max(len(ids) for ids, _, _ in pairs)
        features = {name: np.zeros([len(pairs), length], np.int32) for name in FEATURES}
        for row, (ids, first, _) in enumerate(pairs):
            features["input_ids"][row, : len(ids)] = ids
            features["input_mask"][row, : len(ids)] = 1
            features["segment_ids"][row, first : len(ids)] = 1
        features["masked_lm_positions"] = np.array([[place] for _, _, place in pairs], np.int32)
        return features


class EmbeddingProposals:
    """Proposes the entries whose word embeddings have the highest cosine similarity to a word.

    The embedding of a word is the mean of its token embeddings. The proposals for each word are cached.

    Args:
      table: float32 [V, H]. Word embedding matrix.
      allowed: bool [V]. True for the entries that may be proposed.
      num_candidates: int. K.
    """

    def __init__(self, table, allowed, num_candidates):
        self._table, self._num_candidates = table, num_candidates
        self._allowed = np.flatnonzero(allowed)
        rows = table[self._allowed]
        self._rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
        self._known = {}  # IDs of a word -> int32 [K].

    def __call__(self, words):
        """Maps words, a list of (IDs of a text, Word in it), to int32 [N, K], nearest first."""
        new = list(dict.fromkeys(word.ids for _, word in words if word.ids not in self._known))
        for start in range(0, len(new), WORDS_AT_A_TIME):
            batch = new[start : start + WORDS_AT_A_TIME]
            embeddings = np.stack([self._table[[*ids]].mean(axis=0) for ids in batch])
            self._known |= zip(batch, self._find_nearest(embeddings), strict=True)
        return np.stack([self._known[word.ids] for _, word in words])

    def _find_nearest(self, embeddings):
        """Maps embeddings, float32 [N, H], to the nearest entries, int32 [N, K]."""
        similarity = embeddings @ self._rows.T  # The norm of an embedding does not change its order.
        nearest = np.argpartition(-similarity, self._num_candidates - 1, axis=1)[:, : self._num_candidates]
        nearest.sort(axis=1)  # Breaks ties by ID.
        order = np.argsort(-np.take_along_axis(similarity, nearest, axis=1), axis=1, kind="stable")
        return self._allowed[np.take_along_axis(nearest, order, axis=1)].astype(np.int32)
