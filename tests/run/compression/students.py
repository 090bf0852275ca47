"""Flags and files that tests of distillation share."""

import numpy as np

ALL_LOSSES = {"hidden_weight": 1, "attention_weight": 0.5, "cls_weight": 2}


def read_log(folder):
    """Returns training_log.csv of a run as a structured array."""
    return np.genfromtxt(folder / "training_log.csv", delimiter=",", names=True)


def assert_losses_add_up(log, label_weight=0.5):
    """Asserts that the loss of each step is the sum of the losses by the weights of ALL_LOSSES."""
    total = log["logits_loss"] + log["hidden_loss"] + 0.5 * log["attention_loss"] + 2 * log["cls_loss"]
    if label_weight:
        total += label_weight * log["label_loss"]
    np.testing.assert_allclose(log["loss"], total, rtol=1e-5)
