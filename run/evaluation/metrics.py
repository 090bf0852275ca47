"""Official metrics of classification and regression tasks, by name."""

import numpy as np


def confusion_counts(labels, predictions, num_labels):
    """Counts int64 [num_labels, num_labels]: rows are labels, columns are predictions.

    Both are int [n], each in [0, num_labels).
    """
    counts = np.zeros([num_labels, num_labels], np.int64)
    np.add.at(counts, (labels, predictions), 1)
    return counts


def _accuracy(labels, predictions):
    """Fraction of examples whose label, or whose labels all, are predicted."""
    is_right = np.equal(labels, predictions)
    return is_right.all(axis=1).mean() if is_right.ndim > 1 else is_right.mean()


def _f1(labels, predictions):
    """F1 of label 1."""
    return float(_f1_of_columns(np.equal(labels, 1), np.equal(predictions, 1)))


def _macro_f1(labels, predictions):
    """Mean F1 of the labels: of all columns [n, labels], or of the IDs [n] that occur."""
    return _f1_of_columns(*_to_columns(labels, predictions)).mean()


def _micro_f1(labels, predictions):
    """F1 of all decisions together."""
    return float(_f1_of_columns(*(each.ravel() for each in _to_columns(labels, predictions))))


def _to_columns(labels, predictions):
    """Returns bool [n, labels]; for IDs [n], a column for each ID that occurs."""
    if np.ndim(labels) > 1:
        return np.asarray(labels, bool), np.asarray(predictions, bool)
    ids = np.union1d(labels, predictions)
    return np.equal.outer(labels, ids), np.equal.outer(predictions, ids)


def _f1_of_columns(is_label, is_predicted):
    """F1 along the first axis of bool arrays; 0 without labels and predictions."""
    chosen = is_label.sum(axis=0) + is_predicted.sum(axis=0)
    return 2 * (is_label & is_predicted).sum(axis=0) / np.maximum(chosen, 1)


def _matthews_correlation(labels, predictions):
    """Matthews correlation of label IDs (Gorodkin 2004), 0 if the labels or the predictions are constant."""
    ids, places = np.unique([labels, predictions], return_inverse=True)
    counts = confusion_counts(*places.reshape(2, -1), len(ids))
    total, per_label, per_prediction = counts.sum(), counts.sum(axis=1), counts.sum(axis=0)
    norm = np.sqrt(float(total**2 - per_label @ per_label) * float(total**2 - per_prediction @ per_prediction))
    return (np.trace(counts) * total - per_label @ per_prediction) / norm if norm else 0.0


def _correlation(name):
    """Wraps a function of SciPy. Constant labels or predictions score 0, as in the Matthews correlation."""
    def metric(labels, predictions):
        from scipy import stats  # Takes half a second.

        is_defined = np.ptp(labels) and np.ptp(predictions)
        return getattr(stats, name)(labels, predictions).statistic if is_defined else 0.0

    return metric


# Functions of labels and predictions: IDs [n], 0 or 1 per label [n, labels], or numbers [n].
METRICS = {
    "accuracy": _accuracy,
    "f1": _f1,
    "macro_f1": _macro_f1,
    "micro_f1": _micro_f1,
    "matthews_corrcoef": _matthews_correlation,
    "pearson": _correlation("pearsonr"),
    "spearman": _correlation("spearmanr"),
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
        positive, negative = -np.logaddexp(0, -logits), -np.logaddexp(0, logits)  # log p and log(1 - p)
        averaged = np.logaddexp.reduce(positive) - np.logaddexp.reduce(negative)
    else:
        logits -= np.logaddexp.reduce(logits, axis=-1, keepdims=True)
        averaged = np.logaddexp.reduce(logits) - np.log(len(logits))
    return averaged.astype(np.float32)
