"""The official metrics of classification and regression tasks, by name."""

import numpy as np
from scipy import stats
from sklearn import metrics


def _correlation(statistic):
    """A function of scipy as a metric; 0 where labels or predictions are all one number, as scikit-learn's Matthews."""
    def metric(labels, predictions):
        return statistic(labels, predictions).statistic if np.ptp(labels) and np.ptp(predictions) else 0.0

    return metric


# Each takes labels and predictions: ids [n]; 0 or 1 for each label [n, labels]; or numbers [n].
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
    """{"eval_" + name: float} for each metric name."""
    return {f"eval_{name}": float(METRICS[name](labels, predictions)) for name in names}


def predictions_of(logits, regression=False, multi_label=False):
    """What logits [n, outputs] say: numbers float32 [n]; int32 [n, labels], 1 where the label holds; or ids [n]."""
    if regression:
        return logits[:, 0]
    if multi_label:
        return (logits > 0).astype(np.int32)
    return logits.argmax(axis=1)


def probabilities_of(logits, regression=False, multi_label=False):
    """Probabilities of logits [n, outputs]: softmax, or sigmoid if several labels may hold; numbers stay."""
    if regression:
        return logits
    if multi_label:
        return 1 / (1 + np.exp(-logits))
    exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
    return exponentials / exponentials.sum(axis=1, keepdims=True)
