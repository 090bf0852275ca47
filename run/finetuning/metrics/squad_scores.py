"""Official evaluations of question answering: SQuAD 1.1, SQuAD 2.0, and KorQuAD."""

import collections
import re
import string

from official.nlp.tools import squad_evaluate_v1_1, squad_evaluate_v2_0

from bert_tf.errors import InputError

# Quotation marks and brackets, which KorQuAD's evaluation replaces with spaces.
_KORQUAD_MARKS = re.compile("['\"《》<>〈〉()‘’]")


def check_answers(examples, version_2_with_negative):
    """Raises InputError unless all examples have reference answers."""
    num_missing = sum(
        not (example.answers or (version_2_with_negative and example.answers is not None))
        for example in examples
    )
    if num_missing:
        raise InputError(
            f"{num_missing:,} of {len(examples):,} questions have no reference answers"
            + ("" if version_2_with_negative else " (SQuAD 2.0 requires `version_2_with_negative`)")
        )


def score_answers(examples, answers, null_score_diff_threshold, metric="squad"):
    """Compares predicted with reference answers.

    Args:
      examples: List of Example that passes `check_answers`.
      answers: data_prep.tasks.squad.Answers.
      null_score_diff_threshold: float. For SQuAD 2.0: null odds above which a question has no
        answer.
      metric: "squad", or "korquad", whose F1 counts characters and requires an answer for each
        question.

    Returns:
      Dict of name to float in percent. For SQuAD 1.1 and KorQuAD: exact_match and f1. For SQuAD
      2.0: exact and f1, both also for questions with and without answer (HasAns_, NoAns_), and the
      results of `best_thresholds`.
    """
    chosen_answers = answers.choose(null_score_diff_threshold)
    if metric == "korquad":
        return _korquad(examples, chosen_answers)
    if answers.null_odds is None:
        scores = squad_evaluate_v1_1.evaluate(_dataset(examples), chosen_answers)
        return {"exact_match": 100 * scores["exact_match"], "f1": 100 * scores["final_f1"]}
    scores = squad_evaluate_v2_0.evaluate(_dataset(examples), chosen_answers)
    return {
        name: scores[name] for name in scores if re.fullmatch("(HasAns_|NoAns_)?(exact|f1)", name)
    } | (best_thresholds(examples, answers))


def best_thresholds(examples, answers):
    """Finds the null odds thresholds that give the best scores on SQuAD 2.0.

    See section 4.3 of the paper.

    Returns:
      Dict of best_exact and best_f1, float in percent, and their thresholds best_exact_thresh and
      best_f1_thresh.
    """
    # Scores each threshold with the best answers that it would accept.
    scores = squad_evaluate_v2_0.evaluate(
        _dataset(examples), answers.get_best_texts(), answers.null_odds
    )
    best = {
        f"best_{name}": scores[f"final_{name}"]
        for name in ("exact", "exact_thresh", "f1", "f1_thresh")
    }
    all_null = 100 * sum(not example.answers for example in examples) / len(examples)
    for name in ("best_exact", "best_f1"):
        # The official evaluation returns 0 here, which may accept answers.
        if best[name] <= all_null:
            best[f"{name}_thresh"] = min(0.0, *answers.null_odds.values()) - 1
    return best


def _dataset(examples):
    questions = [
        {"id": example.qas_id, "answers": [{"text": text} for text in example.answers]}
        for example in examples
    ]
    return [{"paragraphs": [{"qas": questions}]}]


def _korquad(examples, chosen_answers):
    """Averages the best match with any of the reference answers over the questions."""
    exact = f1 = 0
    for example in examples:
        answer = _korquad_words(chosen_answers[example.qas_id])
        right = [_korquad_words(text) for text in example.answers]
        exact += answer in right
        f1 += max(_overlap("".join(answer), "".join(words)) for words in right)
    return {"exact_match": 100 * exact / len(examples), "f1": 100 * f1 / len(examples)}


def _korquad_words(text):
    text = _KORQUAD_MARKS.sub(" ", text).lower()
    return text.translate(dict.fromkeys(map(ord, string.punctuation))).split()


def _overlap(answer, right):
    """Computes the F1 of the characters of two strings."""
    same = sum((collections.Counter(answer) & collections.Counter(right)).values())
    return 2 * same / (len(answer) + len(right)) if same else 0
