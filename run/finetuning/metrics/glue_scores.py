"""Official metrics of classification and regression tasks, by name."""

import numpy as np


def _accuracy(labels, predictions):
    """Fraction of examples whose label, or whose labels all, are predicted."""
    is_right = np.equal(labels, predictions)
    return is_right.all(axis=1).mean() if is_right.ndim > 1 else is_right.mean()


def _classification(name, **options):
    """Wraps a function of scikit-learn."""

    def metric(labels, predictions):
        from sklearn import metrics  # Takes half a second.

        return getattr(metrics, name)(labels, predictions, **options)

    return metric


def _correlation(name):
    """Wraps a function of SciPy.

    Constant labels or predictions score 0, as in the Matthews correlation.
    """

    def metric(labels, predictions):
        from scipy import stats  # Takes half a second.

        is_defined = np.ptp(labels) and np.ptp(predictions)
        return getattr(stats, name)(labels, predictions).statistic if is_defined else 0.0

    return metric


# Functions of labels and predictions: IDs [n], 0 or 1 per label [n, labels], or numbers [n].
METRICS = {
    "accuracy": _accuracy,
    # F1 of label 1.
    "f1": _classification("f1_score", labels=[1], average="macro", zero_division=0),
    # Mean F1 of the labels that occur.
    "macro_f1": _classification("f1_score", average="macro", zero_division=0),
    # F1 of all decisions together.
    "micro_f1": _classification("f1_score", average="micro", zero_division=0),
    "matthews_corrcoef": _classification("matthews_corrcoef"),
    "pearson": _correlation("pearsonr"),
    "spearman": _correlation("spearmanr"),
}


def score_predictions(names, labels, predictions):
    """Returns dict of "eval_" + name to float for the named metrics."""
    return {f"eval_{name}": float(METRICS[name](labels, predictions)) for name in names}


def to_predictions(logits, regression=False, multi_label=False):
    """Converts logits [n, outputs] to predictions.

    These are float32 [n] numbers, int32 [n, labels] 0 or 1 per label, or int [n] label IDs.
    """
    if regression:
        return logits[:, 0]
    if multi_label:
        return (logits > 0).astype(np.int32)
    return logits.argmax(axis=1)


def to_probabilities(logits, regression=False, multi_label=False):
    """Applies softmax to logits [n, outputs], or sigmoid if `multi_label`.

    Returns numbers unchanged.
    """
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
      float32 [n, ..., outputs]. Logits whose probabilities are the means; for regression, the mean
      of the numbers.
    """
    logits = np.stack(logits).astype(np.float64)
    if regression:
        averaged = logits.mean(axis=0)
    elif multi_label:  # The logarithm of p / (1 - p), where p and 1 - p are sums over models.
        # Log p and log(1 - p)
        positive = -np.logaddexp(0, -logits)
        negative = -np.logaddexp(0, logits)
        averaged = np.logaddexp.reduce(positive) - np.logaddexp.reduce(negative)
    else:
        logits -= np.logaddexp.reduce(logits, axis=-1, keepdims=True)
        averaged = np.logaddexp.reduce(logits) - np.log(len(logits))
    return averaged.astype(np.float32)
