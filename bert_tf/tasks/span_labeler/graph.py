"""The served model from a question and a context to the answer in the context.

Shape legend: B batch, CT tokens of contexts, WT windows of all texts, CA candidates, S
sequence, SP spans.
"""

from typing import NamedTuple

import tensorflow as tf

from bert_tf import models
from bert_tf.tasks.kind import MAX_WINDOWS
from bert_tf.tasks.servable import Servable, check_same_size
from bert_tf.tasks.span_labeler.decoding import N_BEST_SIZE, NO_SPAN
from bert_tf.tokenization import ragged
from bert_tf.tokenization.model_inputs import Windows, split_into_windows, to_dense

# Word separators of the original's `read_squad_examples`; each is replaced by the same number of
# space bytes.
_WORD_SEPARATORS = (("[\t\r\n]", " "), ("\u202f", "   "))


class ServedSpanLabeler(Servable):
    """A BertSpanLabeler that takes "question" string [B] and "context" string [B].

    Contexts are split into windows, and the best span over all of them is found by the rules of the
    original's `write_predictions`, but its text is always the source of its tokens. serving_default
    returns:
      "answer" string [B], as in the context; "score" float32 [B], the sum of its start and end
        scores;
      "start", "end" int32 [B], half-open, in characters (Unicode code points) of the context
        without invalid UTF-8;
      "null_score_diff" float32 [B]: the score of no answer minus "score". With
        `version_2_with_negative`, the answer is "" and the span 0, 0 if this is over the threshold;
      "answers" string [B, CA], "scores" float32 [B, CA]: the best answers with different texts,
        padded with "" and NO_SPAN;
      "was_cut" bool [B]: whether the question or the context was truncated.
    "ids" and "tf_example" return "start_logits" and "end_logits", float32 [B, S].
    """

    kind = "span_labeler"
    model_class = models.BertSpanLabeler

    def encode(self, question, context):
        """Converts string [B] each to features of all windows [WT, S] and was_cut [B]."""
        encoded = self._encode(question, context)
        return encoded.features, encoded.was_cut

    def answer(self, features):
        """Computes start_logits and end_logits, float32 [WT, S], for features int32 [WT, S]."""
        return self.model(features)

    def answer_texts(self, question, context):
        """Computes the outputs of serving_default for string [B] each; see the class."""
        encoded = self._encode(question, context)
        logits = self.answer(encoded.features)
        spans = rank_spans(
            encoded.windows,
            encoded.features,
            logits,
            encoded.pieces.ids,
            self.metadata.max_answer_length,
        )
        sources = extract_span_texts(
            encoded.pieces,
            ragged.row_numbers(spans.scores),
            spans.first.values,
            spans.last.values,
        )
        starts = to_dense(spans.scores.with_values(sources.starts), 0, N_BEST_SIZE)
        ends = to_dense(spans.scores.with_values(sources.ends), 0, N_BEST_SIZE)
        texts = to_dense(spans.scores.with_values(sources.texts), "", N_BEST_SIZE)
        scores = to_dense(spans.scores, NO_SPAN, N_BEST_SIZE)
        null = tf.math.segment_min(
            logits["start_logits"][:, 0] + logits["end_logits"][:, 0], encoded.windows.rows
        )
        null_score_diff = null - scores[:, 0]
        has_answer = spans.scores.row_lengths() > 0
        if self.metadata.version_2_with_negative:
            has_answer &= null_score_diff <= self.metadata.null_score_diff_threshold
        answers, answer_scores = _distinct(texts, scores, self.metadata.top_k)
        return {
            "answer": tf.where(has_answer, texts[:, 0], ""),
            "score": scores[:, 0],
            "start": tf.where(has_answer, starts[:, 0], 0),
            "end": tf.where(has_answer, ends[:, 0], 0),
            "null_score_diff": null_score_diff,
            "answers": answers,
            "scores": answer_scores,
            "was_cut": encoded.was_cut,
        }

    def _encode(self, question, context):
        """Converts string [B] each to `EncodedContexts`."""
        question, context = check_same_size(question=question, context=context)
        query = self.tokenizer.tokenize(question)
        pieces = split_contexts(self.tokenizer, context)
        query_cut = query.row_lengths() > self.metadata.max_query_length
        query = query[:, : self.metadata.max_query_length]
        # The original's 3 are [CLS] and two [SEP].
        room = self.max_seq_length - 3 - query.row_lengths()
        windows = split_into_windows(pieces.ids, room, self.metadata.doc_stride, MAX_WINDOWS)
        features, _ = self.join_rows(tf.gather(query, windows.rows), windows.ids)
        return EncodedContexts(pieces, windows, features, windows.was_cut | query_cut)


class Pieces(NamedTuple):
    """The tokens of contexts and their sources."""

    texts: tf.Tensor  # string [B]. Contexts without invalid UTF-8 bytes.
    ids: tf.RaggedTensor  # int32 [B, (tokens)].
    byte_starts: tf.Tensor  # int64 [CT]. Half-open span of each token in its text.
    byte_ends: tf.Tensor


class EncodedContexts(NamedTuple):
    """Questions and contexts as inputs of the model."""

    pieces: Pieces
    windows: Windows
    features: dict[str, tf.Tensor]  # int32 [WT, S].
    was_cut: tf.Tensor  # bool [B]. Whether the question or the context was truncated.


class SpanTexts(NamedTuple):
    """The source texts of spans."""

    texts: tf.Tensor  # string [SP].
    starts: tf.Tensor  # int32 [SP]. Half-open span in the context, in characters.
    ends: tf.Tensor


class RankedSpans(NamedTuple):
    """The best spans of each context."""

    scores: tf.RaggedTensor  # float32 [B, (CA)]. Descending.
    first: tf.RaggedTensor  # int64 [B, (CA)]. First and last token, counted over all contexts.
    last: tf.RaggedTensor


def split_contexts(tokenizer, texts):
    """Tokenizes contexts word by word, as in the original; string [B] -> `Pieces`."""
    texts = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="ignore")
    spaced = texts
    for separator, spaces in _WORD_SEPARATORS:
        spaced = tf.strings.regex_replace(spaced, separator, spaces)
    parts = tf.strings.split(spaced, " ")  # "" between two spaces
    lengths = tf.cast(tf.strings.length(parts.values), tf.int64)
    ends = tf.cumsum(lengths + 1) - 1
    before = tf.gather(tf.concat([[0], ends + 1], 0), parts.row_starts())  # bytes of earlier rows
    ends -= tf.gather(before, ragged.row_numbers(parts))
    is_word = lengths > 0
    words = ragged.select(parts, is_word)
    tokens = tokenizer.tokenize_with_offsets(words.values)
    word_starts = tf.gather(
        tf.boolean_mask(ends - lengths, is_word), ragged.row_numbers(tokens.ids)
    )
    return Pieces(
        texts,
        ragged.merge_dimensions(words, tokens.ids),
        *(
            word_starts + tf.cast(each.values, tf.int64)
            for each in (tokens.byte_starts, tokens.byte_ends)
        ),
    )


def extract_span_texts(pieces, rows, first, last):
    """Extracts the source text of token spans, with any white space between words as one space.

    The original's `get_final_text`, which writes the prediction files, does not know the sources.
    It searches for the tokens, and returns complete words, up to the next white space, if a token
    is [UNK] or has other characters than the text.

    Args:
      pieces, rows: `Pieces`, and the context of each span in them, int64 [SP].
      first, last: int64 [SP]. Tokens, counted over all contexts.

    Returns:
      `SpanTexts`.
    """
    starts = tf.gather(pieces.byte_starts, first)
    ends = tf.gather(pieces.byte_ends, last)
    contexts = tf.gather(pieces.texts, rows)
    as_written = tf.strings.substr(contexts, starts, ends - starts)
    before = tf.strings.length(
        tf.strings.substr(contexts, tf.zeros_like(starts), starts), "UTF8_CHAR"
    )
    return SpanTexts(
        tf.strings.regex_replace(as_written, "[ \t\r\n\u202f]+", " "),
        before,
        before + tf.strings.length(as_written, "UTF8_CHAR"),
    )


def rank_spans(windows, features, logits, ids, max_answer_length):
    """Finds the N_BEST_SIZE best spans of each context.

    See bert_tf.tasks.span_labeler.decoding, which does the same in NumPy.

    Args:
      windows, features: bert_tf.tokenization.model_inputs.Windows, and input_mask int32 [WT, S],
        one per row.
      logits: Dict of start_logits and end_logits, float32 [WT, S].
      ids: RaggedTensor int32 [B, (tokens)] of the contexts.
      max_answer_length: int. Maximum number of tokens of a span.

    Returns:
      `RankedSpans`.
    """
    is_real = features["input_mask"] > 0
    num_positions = tf.minimum(N_BEST_SIZE, tf.shape(is_real)[1])
    (start_scores, starts), (end_scores, ends) = (
        _top_k(tf.where(is_real, logits[name], logits[name].dtype.min), num_positions)  # [WT, CA]
        for name in ("start_logits", "end_logits")
    )
    # A window is last in its row, before a [SEP]; if it is empty, so is the list of its spans.
    begin = (
        tf.reduce_sum(tf.cast(is_real, tf.int64), axis=1, keepdims=True)
        - 1
        - windows.lengths[:, tf.newaxis]
    )
    # The positions below are within the window.
    starts = starts - begin
    ends = ends - begin
    begins = show_most_context(windows, starts + windows.starts[:, tf.newaxis], ids.nrows())
    begins &= (starts >= 0) & (starts < windows.lengths[:, tf.newaxis])
    lengths = ends[:, tf.newaxis, :] - starts[:, :, tf.newaxis] + 1  # [WT, CA, CA]
    is_span = (
        begins[:, :, tf.newaxis]
        & (ends < windows.lengths[:, tf.newaxis])[:, tf.newaxis, :]
        & (lengths >= 1)
        & (lengths <= max_answer_length)
    )
    scores = tf.where(
        is_span, start_scores[:, :, tf.newaxis] + end_scores[:, tf.newaxis, :], NO_SPAN
    )

    pairs = tf.cast(num_positions**2, tf.int64)
    by_context = tf.RaggedTensor.from_value_rowids(
        tf.reshape(scores, [-1, pairs]), windows.rows, ids.nrows(), validate=False
    )
    num_columns = tf.maximum(tf.reduce_max(by_context.row_lengths()), 0)
    scores = tf.reshape(by_context.to_tensor(NO_SPAN), [ids.nrows(), num_columns * pairs])
    scores, indices = _top_k(scores, tf.minimum(N_BEST_SIZE, tf.shape(scores)[1]))
    window = tf.minimum(indices // pairs, by_context.row_lengths()[:, tf.newaxis] - 1)
    window += by_context.row_starts()[:, tf.newaxis]  # [B, CA]
    to_piece = tf.gather(windows.starts, window) + ids.row_starts()[:, tf.newaxis]
    start = indices % pairs // tf.cast(num_positions, tf.int64)
    end = indices % tf.cast(num_positions, tf.int64)
    first = tf.gather_nd(starts, tf.stack([window, start], -1)) + to_piece
    last = tf.gather_nd(ends, tf.stack([window, end], -1)) + to_piece
    return RankedSpans(
        *(ragged.select_columns(value, scores > NO_SPAN) for value in (scores, first, last))
    )


def show_most_context(windows, positions, num_contexts):
    """Returns whether no other window shows more context of a token.

    This is the original's `_check_is_max_context`.

    Args:
      windows: Windows.
      positions: int64 [WT, CA]. Tokens of each window, 0-based within its context. The result is
        bool [WT, CA].
      num_contexts: int64, B.
    """

    def group_by_context(values):  # [WT] -> [WT, 1, windows of the same context]
        those = tf.RaggedTensor.from_value_rowids(
            values, windows.rows, num_contexts, validate=False
        )
        return tf.gather(to_dense(those, 0), windows.rows)[:, tf.newaxis]

    starts = group_by_context(windows.starts)
    lengths = group_by_context(windows.lengths)
    left = positions[..., tf.newaxis] - starts
    right = lengths - 1 - left
    # Double precision, as in Python, so that the same windows are equal.
    context = tf.cast(tf.minimum(left, right), tf.float64) + 0.01 * tf.cast(lengths, tf.float64)
    context = tf.where((left >= 0) & (right >= 0), context, -1.0)
    number = tf.range(tf.size(windows.rows, tf.int64)) - tf.searchsorted(
        windows.rows, windows.rows, out_type=tf.int64
    )
    return tf.argmax(context, axis=-1) == number[:, tf.newaxis]


def _top_k(scores, count):
    """Calls `tf.math.top_k`, but returns int64 positions, which it does not support on GPUs."""
    values, positions = tf.math.top_k(scores, count)
    return values, tf.cast(positions, tf.int64)


def _distinct(texts, scores, count):
    """Returns the first `count` distinct texts per row and their scores.

    The shapes of both are [B, N_BEST_SIZE] before, and [B, count] after.
    """
    is_same = texts[:, :, tf.newaxis] == texts[:, tf.newaxis, :]
    earlier = (
        tf.linalg.band_part(tf.ones([N_BEST_SIZE, N_BEST_SIZE]), -1, 0) - tf.eye(N_BEST_SIZE) > 0
    )
    is_distinct = ~tf.reduce_any(is_same & earlier, axis=2) & (scores > NO_SPAN)
    return (
        to_dense(ragged.select_columns(texts, is_distinct)[:, :count], "", count),
        to_dense(ragged.select_columns(scores, is_distinct)[:, :count], NO_SPAN, count),
    )
