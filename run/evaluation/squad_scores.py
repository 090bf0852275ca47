"""How many questions are answered right: the official evaluations of SQuAD 1.1 and 2.0, and KorQuAD's."""

import collections
import re
import string

from official.nlp.tools import squad_evaluate_v1_1, squad_evaluate_v2_0

from bert_tf.errors import InputError

# What KorQuAD's evaluation takes for a space: quotation marks and brackets.
_KORQUAD_MARKS = re.compile("['\"《》<>〈〉()‘’]")


def check_answers(examples, version_2_with_negative):
    """Raises InputError unless the examples can be scored, all of them having answers in their file."""
    without = sum(not (example.answers or (version_2_with_negative and example.answers is not None))
                  for example in examples)
    if without:
        raise InputError(f"{without:,} of {len(examples):,} questions have no answers to compare with"
                         + ("" if version_2_with_negative else " (SQuAD 2.0 needs `version_2_with_negative`)"))


def score(examples, answers, null_score_diff_threshold, metric="squad"):
    """Compares answers with those of the file.

    Args:
      examples: list of Example that `check_answers` takes.
      answers: data_prep.tasks.squad.Answers.
      null_score_diff_threshold: null odds above which a question of SQuAD 2.0 has no answer.
      metric: "squad"; or "korquad", whose F1 counts characters, for questions that all have an answer.

    Returns:
      Dict of name -> float in percent: for SQuAD 1.1 and KorQuAD exact_match and f1; for 2.0 exact and f1, the same of
      questions with and without answer (HasAns_, NoAns_), and what `best_thresholds` gives.
    """
    chosen = answers.choose(null_score_diff_threshold)
    if metric == "korquad":
        return _korquad(examples, chosen)
    if answers.null_odds is None:
        scores = squad_evaluate_v1_1.evaluate(_dataset(examples), chosen)
        return {"exact_match": 100 * scores["exact_match"], "f1": 100 * scores["final_f1"]}
    scores = squad_evaluate_v2_0.evaluate(_dataset(examples), chosen)
    return {name: scores[name] for name in scores if re.fullmatch("(HasAns_|NoAns_)?(exact|f1)", name)} | (
        best_thresholds(examples, answers))


def best_thresholds(examples, answers):
    """The thresholds of the null odds that answer most questions of SQuAD 2.0 right (the paper's section 4.3).

    Returns:
      Dict: best_exact and best_f1, float in percent; best_exact_thresh and best_f1_thresh, with which they are reached.
    """
    # Each threshold is judged by the best answers that it would let through.
    scores = squad_evaluate_v2_0.evaluate(_dataset(examples), answers.best_texts(), answers.null_odds)
    best = {f"best_{name}": scores[f"final_{name}"] for name in ("exact", "exact_thresh", "f1", "f1_thresh")}
    all_null = 100 * sum(not example.answers for example in examples) / len(examples)
    for name in ("best_exact", "best_f1"):
        if best[name] <= all_null:  # the official evaluation then says 0, which may let answers through
            best[f"{name}_thresh"] = min(0.0, *answers.null_odds.values()) - 1
    return best


def _dataset(examples):
    questions = [{"id": example.qas_id, "answers": [{"text": text} for text in example.answers]}
                 for example in examples]
    return [{"paragraphs": [{"qas": questions}]}]


def _korquad(examples, chosen):
    """Means over questions of the best match with any of the right answers."""
    exact = f1 = 0
    for example in examples:
        answer = _korquad_words(chosen[example.qas_id])
        right = [_korquad_words(text) for text in example.answers]
        exact += answer in right
        f1 += max(_overlap("".join(answer), "".join(words)) for words in right)
    return {"exact_match": 100 * exact / len(examples), "f1": 100 * f1 / len(examples)}


def _korquad_words(text):
    text = _KORQUAD_MARKS.sub(" ", text).lower()
    return text.translate(dict.fromkeys(map(ord, string.punctuation))).split()


def _overlap(answer, right):
    """F1 of the characters of one str in another."""
    same = sum((collections.Counter(answer) & collections.Counter(right)).values())
    return 2 * same / (len(answer) + len(right)) if same else 0
