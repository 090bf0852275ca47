"""Official metrics of classification and regression tasks, by name."""

import numpy as np
from scipy import special, stats
from sklearn import metrics


def _correlation(statistic):
    """Wraps a SciPy function. Constant labels or predictions score 0, as in scikit-learn's Matthews correlation."""
    def metric(labels, predictions):
        return statistic(labels, predictions).statistic if np.ptp(labels) and np.ptp(predictions) else 0.0

    return metric


# Functions of labels and predictions: IDs [n], 0 or 1 per label [n, labels], or numbers [n].
METRICS = {
    "accuracy": metrics.accuracy_score,
    "f1": metrics.f1_score,
    "macro_f1": lambda labels, predictions: metrics.f1_score(labels, predictions, average="macro", zero_division=0),
    "micro_f1": lambda labels, predictions: metrics.f1_score(labels, predictions, average="micro", zero_division=0),
    "matthews_corrcoef": metrics.matthews_corrcoef,
    "pearson": _correlation(stats.pearsonr),
    "spearman": _correlation(stats.spearmanr),
}


def score(names, labels, predictions):
    """Returns dict of "eval_" + name to float for the named metrics."""
    return {f"eval_{name}": float(METRICS[name](labels, predictions)) for name in names}


def to_predictions(logits, regression=False, multi_label=False):
    """Converts logits [n, outputs] to float32 [n] numbers, int32 [n, labels] 0 or 1 per label, or int [n] label IDs."""
    if regression:
        return logits[:, 0]
    if multi_label:
        return (logits > 0).astype(np.int32)
    return logits.argmax(axis=1)


def to_probabilities(logits, regression=False, multi_label=False):
    """Applies softmax to logits [n, outputs], or sigmoid if `multi_label`; returns numbers unchanged."""
    if regression:
        return logits
    if multi_label:
        return 1 / (1 + np.exp(-logits))
    exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
    return exponentials / exponentials.sum(axis=1, keepdims=True)


def average_logits(logits, regression=False, multi_label=False):
    """Averages the probabilities of several models.

    Args:
      logits: List of float32 [n, ..., outputs], one per model.
      regression, multi_label: See `to_probabilities`.

    Returns:
      float32 [n, ..., outputs]. Logits whose probabilities are the means; for regression, the mean of the numbers.
    """
    logits = np.stack(logits).astype(np.float64)
    if regression:
        averaged = logits.mean(axis=0)
    elif multi_label:  # The logarithm of p / (1 - p), where p and 1 - p are sums over models.
        averaged = special.logsumexp(special.log_expit(logits), axis=0) - special.logsumexp(
            special.log_expit(-logits), axis=0)
    else:
        averaged = special.logsumexp(special.log_softmax(logits, axis=-1), axis=0) - np.log(len(logits))
    return averaged.astype(np.float32)
