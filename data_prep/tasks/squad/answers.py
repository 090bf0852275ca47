"""Conversion of window scores to answers, and the prediction files of the original BERT.

Answers are as written in the context.
"""

import dataclasses
import logging
import math
import os
from collections import defaultdict
from typing import NamedTuple

import numpy as np

from bert_tf.errors import InputError
from bert_tf.files import new_file, to_json
from bert_tf.tasks.span_labeler.decoding import ScoredWindow, Spans, find_spans, rank
from bert_tf.tokenization.plain import split_text
from data_prep.tasks.squad.features import WindowFeatures

# Details of answers, as in the original: the program chooses whether to show them.
_log = logging.getLogger(__name__)

PREDICTIONS_FILE = "predictions.json"
NBEST_FILE = "nbest_predictions.json"
NULL_ODDS_FILE = "null_odds.json"

# Null odds of a question without any answer, with which the original BERT fails: the value with
# which it begins its search for the smallest null score, higher than any threshold.
CERTAINLY_NULL = 1_000_000.0


class Candidate(NamedTuple):
    """An answer in the n-best list: its text, "" for no answer, and its scores."""

    text: str
    start_logit: float
    end_logit: float


@dataclasses.dataclass(frozen=True)
class Answers:
    """The answers to some questions.

    Attributes:
      nbest: Dict of question ID to its list of Candidates, most likely first, at least one.
      null_odds: Dict of question ID to the score of no answer minus the score of the best answer.
        None for SQuAD 1.1.
    """

    nbest: dict
    null_odds: dict | None

    def get_best_texts(self):
        """Returns dict of question ID to its most likely text, "" if no candidate has a text."""
        return {
            qas_id: next((candidate.text for candidate in candidates if candidate.text), "")
            for qas_id, candidates in self.nbest.items()
        }

    def choose(self, null_score_diff_threshold):
        """Returns dict of question ID to its answer.

        For SQuAD 2.0, the answer is "" if the null odds exceed the threshold.
        """
        texts = self.get_best_texts()
        if not self.null_odds:
            return texts
        return {
            qas_id: "" if self.null_odds[qas_id] > null_score_diff_threshold else text
            for qas_id, text in texts.items()
        }


@dataclasses.dataclass(frozen=True)
class _Search:
    """The arguments of `predict_answers` with the same names, which are equal for all questions."""

    n_best_size: int
    max_answer_length: int
    do_lower_case: bool
    strip_accents: bool | None


class _ScoredFeatures(NamedTuple):
    """The features of a window and its scores."""

    features: WindowFeatures
    window: ScoredWindow


def write_predictions(
    examples,
    features,
    start_logits,
    end_logits,
    *,
    n_best_size,
    max_answer_length,
    do_lower_case,
    output_dir,
    version_2_with_negative,
    null_score_diff_threshold,
):
    """Finds the answers and writes the prediction files of the original BERT.

    For arguments, see `predict_answers` and `write_answers`.

    Returns:
      Answers.
    """
    answers = predict_answers(
        examples,
        features,
        start_logits,
        end_logits,
        n_best_size=n_best_size,
        max_answer_length=max_answer_length,
        do_lower_case=do_lower_case,
        version_2_with_negative=version_2_with_negative,
    )
    write_answers(answers, output_dir, null_score_diff_threshold)
    return answers


def write_answers(answers, output_dir, null_score_diff_threshold):
    """Writes predictions.json, nbest_predictions.json, and, for SQuAD 2.0, null_odds.json.

    Args:
      answers: Answers.
      output_dir: Path of a directory.
      null_score_diff_threshold: float. Null odds above which a question has no answer.
    """
    nbest = {
        qas_id: [
            {
                "text": candidate.text,
                "probability": probability,
                "start_logit": candidate.start_logit,
                "end_logit": candidate.end_logit,
            }
            for candidate, probability in zip(
                candidates, _compute_probabilities(candidates), strict=True
            )
        ]
        for qas_id, candidates in answers.nbest.items()
    }
    _write_json(os.path.join(output_dir, NBEST_FILE), nbest)
    _write_json(
        os.path.join(output_dir, PREDICTIONS_FILE), answers.choose(null_score_diff_threshold)
    )
    if answers.null_odds is not None:
        _write_json(os.path.join(output_dir, NULL_ODDS_FILE), answers.null_odds)


def predict_answers(
    examples,
    features,
    start_logits,
    end_logits,
    *,
    n_best_size,
    max_answer_length,
    do_lower_case,
    version_2_with_negative,
    strip_accents=None,
):
    """Finds the best answers to each question, like the original BERT's `write_predictions`.

    Args:
      examples: List of Example.
      features: List of the WindowFeatures of these examples. An example can have none.
      start_logits, end_logits: float [windows, S]. Scores for each feature.
      n_best_size: int. Number of starts and ends to try in each window, and of answers to keep.
      max_answer_length: int. Maximum number of tokens in an answer.
      do_lower_case: bool. As in the tokenizer.
      version_2_with_negative: bool. Whether a question can have no answer.
      strip_accents: bool. As in the tokenizer. Defaults to `do_lower_case`.

    Returns:
      Answers. If none of the n best is an answer, for which the original BERT fails, or if the
      example has no features, the null odds for SQuAD 2.0 are CERTAINLY_NULL, and the answer for
      1.1 is the original BERT's "empty".

    Raises:
      InputError: If the number of rows of scores differs from the number of features.
    """
    if not len(start_logits) == len(end_logits) == len(features):
        raise InputError(
            f"{len(start_logits)} rows of start logits and {len(end_logits)} of end logits do not "
            f"match {len(features)} features"
        )
    search = _Search(n_best_size, max_answer_length, do_lower_case, strip_accents)
    scored = _group_by_example(features, start_logits, end_logits)
    nbest = {}
    null_odds = {}
    for index, example in enumerate(examples):
        null = _find_null(scored[index]) if version_2_with_negative else None
        candidates = _find_candidates(scored[index], null, example.doc_tokens, search)
        if version_2_with_negative:
            if null not in candidates:
                candidates.append(null)
            null_odds[example.qas_id] = _compute_null_odds(null, candidates)
        nbest[example.qas_id] = candidates or [Candidate("empty", 0.0, 0.0)]
    return Answers(nbest, null_odds if version_2_with_negative else None)


def get_final_text(tokens, original, do_lower_case, strip_accents=None):
    """Returns the part of a text that tokens come from, like the original BERT's `get_final_text`.

    Splits the words of the text like the tokenizer, and searches for the answer there. Returns the
    complete text if splitting changed the number of characters other than spaces, or if the answer
    is not found, as with [UNK] tokens, and with added tokens that have punctuation or capitals.

    Args:
      tokens: List of str. Consecutive tokens.
      original: str. The words of the context that they overlap, joined by spaces.
      do_lower_case, strip_accents: bool. As in the tokenizer.

    Returns:
      str. A part of `original`, for example only the year for "(1895-1943)." and the token "1895".
    """
    answer = " ".join(" ".join(tokens).replace(" ##", "").replace("##", "").split())
    spaced = " ".join(split_text(original, do_lower_case, strip_accents))
    start = spaced.find(answer)
    if start < 0 or not answer:
        _log.info("answer not found, using its complete words: %r in %r", answer, original)
        return original
    offsets = [offset for offset, character in enumerate(original) if character != " "]
    if len(offsets) != len(spaced) - spaced.count(" "):
        _log.info(
            "tokenization changes the length, using complete words for the answer: %r in %r",
            answer,
            original,
        )
        return original
    first = start - spaced.count(" ", 0, start)
    last = first + len(answer) - answer.count(" ") - 1
    return original[offsets[first] : offsets[last] + 1]


def _group_by_example(features, start_logits, end_logits):
    """Returns a defaultdict of example index to its list of _ScoredFeatures."""
    scored = defaultdict(list)
    for feature, starts, ends in zip(features, start_logits, end_logits, strict=True):
        window = ScoredWindow(
            feature.context_start,
            feature.is_max_context,
            np.asarray(starts, np.float64),  # Python adds in this precision.
            np.asarray(ends, np.float64),
        )
        scored[feature.example_index].append(_ScoredFeatures(feature, window))
    return scored


def _find_null(scored):
    """Returns the Candidate of no answer, from the _ScoredFeatures with its lowest score."""
    scores = [(float(window.start_scores[0]), float(window.end_scores[0])) for _, window in scored]
    return Candidate("", *min(scores, key=sum, default=(0.0, 0.0)))


def _compute_null_odds(null, candidates):
    """Returns the score of no answer minus the score of the best answer among Candidates."""
    best = next((candidate for candidate in candidates if candidate.text), None)
    if best is None:
        return CERTAINLY_NULL
    return null.start_logit + null.end_logit - best.start_logit - best.end_logit


def _find_candidates(scored, null, doc_tokens, search):
    """Finds the answers to a question, best first, with ties in the order of the original BERT.

    Args:
      scored: List of _ScoredFeatures. The windows of the context.
      null: Candidate of no answer, or None.
      doc_tokens: List of str. Words of the context.
      search: _Search.

    Returns:
      List of Candidates with distinct texts.
    """
    windows = [window for _, window in scored]
    spans = find_spans(windows, search.n_best_size, search.max_answer_length)
    if null:  # At [CLS], position 0.
        spans = Spans(*map(np.append, spans, (0, 0, 0, null.start_logit, null.end_logit)))
    order = rank(spans.start_scores + spans.end_scores)
    ranked = zip(*(column[order].tolist() for column in spans), strict=True)
    candidates = {}
    for window, start, end, *logits in ranked:
        if len(candidates) >= search.n_best_size:
            break
        text = ""
        if start:
            tokens, original = _extract(scored[window].features, start, end, doc_tokens)
            text = get_final_text(tokens, original, search.do_lower_case, search.strip_accents)
        candidates.setdefault(text, Candidate(text, *logits))
    return list(candidates.values())


def _extract(feature, start, end, doc_tokens):
    """Returns the tokens `start` to `end` of WindowFeatures, list of str, and their words, str."""
    first_word = feature.words[start - feature.context_start]
    last_word = feature.words[end - feature.context_start]
    tokens = [feature.vocabulary[token_id] for token_id in feature.token_ids[start : end + 1]]
    return tokens, " ".join(doc_tokens[first_word : last_word + 1])


def _compute_probabilities(candidates):
    """Computes the softmax of the candidates' scores, a list of float."""
    scores = [candidate.start_logit + candidate.end_logit for candidate in candidates]
    highest = max(scores)
    exponentials = [math.exp(score - highest) for score in scores]
    total = sum(exponentials)
    return [exponential / total for exponential in exponentials]


def _write_json(path, content):
    with new_file(path) as file:
        file.write(to_json(path, content, indent=4) + "\n")
