"""Result files: scores by name, predictions with one row per example, and tables.

Scores and predictions have the form of the original BERT.
"""

import csv
import os

import numpy as np

from bert_tf.errors import InputError
from bert_tf.files import new_file, read_text

RESULTS_FILE = "eval_results.txt"  # As the original BERT names it.


def write_results(path, results):
    """Writes `name = value` lines sorted by name, and prints them.

    The file is like eval_results.txt of the original BERT.

    Prints four significant digits.
    """
    with new_file(path) as file:
        file.writelines(f"{name} = {results[name]}\n" for name in sorted(results))
    for name, value in sorted(select_distinct(results).items()):
        print(
            f"{name} = {value:.4g}"
            if isinstance(value, (float, np.floating))
            else f"{name} = {value}"
        )


def select_distinct(results):
    """Returns results without the original's second name of the loss."""
    return {
        name: value
        for name, value in results.items()
        if name != "loss" or "eval_loss" not in results
    }


def read_results(path):
    """Reads a file of `write_results` into a dict of name to float.

    Raises InputError if it is invalid.
    """
    lines = [line.partition(" = ") for line in read_text(path).splitlines()]
    try:
        return {name: float(value) for name, _, value in lines}
    except ValueError as error:
        raise InputError(
            f"{path}: is corrupted; each line must have the form name = number"
        ) from error


def write_table(path, columns, rows):
    """Writes the columns of rows, dicts, as tab-separated values with a header.

    A missing value is an empty cell.
    """
    with new_file(path, newline="") as file:
        writer = csv.DictWriter(
            file, columns, delimiter="\t", lineterminator="\n", extrasaction="ignore"
        )
        writer.writeheader()
        writer.writerows(rows)


def write_probabilities(folder, probabilities):
    """Writes test_results.tsv as the original BERT does: one row per example.

    `probabilities`: [n, outputs].
    """
    path = os.path.join(folder, "test_results.tsv")
    with new_file(path) as file:
        for row in probabilities:
            file.write("\t".join(str(value) for value in row) + "\n")
