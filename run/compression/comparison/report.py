"""The table and the picture of a comparison."""

import csv
import os

from bert_tf.files import make_dirs, new_file
from run.compression.comparison.measuring import TEXTS_TOGETHER
from run.evaluation import plots

NAME = "comparison"
HEADER = ("model", "format", "parameters", "megabytes", "size_divided_by", "{metric}", "kept",
          *(part for count in TEXTS_TOGETHER for part in (f"ms_of_{count}", f"speed_of_{count}")))


def write(folder, measured, metric):
    """Writes comparison.txt, .tsv and .png into a folder, and prints the table.

    Args:
      folder: made if missing.
      measured: list of Measured; all are compared with the first.
      metric: name of the score.
    """
    make_dirs(folder)
    table = rows(measured)
    header = [name.format(metric=metric) for name in HEADER]
    text = as_text(table, header)
    with new_file(os.path.join(folder, f"{NAME}.txt")) as file:
        file.write(text)
    with new_file(os.path.join(folder, f"{NAME}.tsv"), newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerows([header, *table])
    plots.score_over_latency(os.path.join(folder, f"{NAME}.png"), [
        (each.model, each.format, 1000 * each.seconds[1], each.score) for each in measured], metric)
    print(text, end="")


def rows(measured):
    """A list for each Measured of the values of HEADER, beside the first of them."""
    first = measured[0]
    return [[each.model, each.format, each.parameters, each.size / 1e6, first.size / each.size, each.score,
             each.score / first.score if first.score else float("nan"),
             *(value for count in TEXTS_TOGETHER
               for value in (1000 * each.seconds[count], first.seconds[count] / each.seconds[count]))]
            for each in measured]


def as_text(table, header):
    """The rows as a table of text."""
    formats = ("", "", ",", ".1f", ".2f", ".4f", ".1%", *(".2f", ".2f") * len(TEXTS_TOGETHER))
    cells = [list(header), *([format(value, spec) for value, spec in zip(row, formats, strict=True)] for row in table)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join(cell.ljust(width) if place < 2 else cell.rjust(width)
                       for place, (cell, width) in enumerate(zip(row, widths, strict=True))).rstrip() for row in cells]
    return "\n".join(lines) + "\n"
