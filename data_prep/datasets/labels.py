"""Formats of the labels of a row: one, or several in a list, a text, or a column each."""

import dataclasses
import json

from bert_tf.errors import InputError
from data_prep.tables.objects import to_text

CHOICES = "choices"  # Key of the list of labels in Label Studio's exports.
INDICATORS = {
    "0": False,
    "1": True,
    "0.0": False,
    "1.0": True,
    "false": False,
    "true": True,
    "": False,
}


@dataclasses.dataclass(frozen=True)
class SingleLabel:
    """One label per row."""

    is_multiple = False

    def split(self, cell):
        """Returns the labels of a cell, a list of str: here one, which can be empty."""
        return [to_text(cell).strip()]


@dataclasses.dataclass(frozen=True)
class SeparatedLabels:
    """Any number of labels per row, in a text with a separator."""

    separator: str
    is_multiple = True

    def split(self, cell):
        """See SingleLabel."""
        return [label.strip() for label in to_text(cell).split(self.separator) if label.strip()]


@dataclasses.dataclass(frozen=True)
class ListedLabels:
    """Any number of labels per row, in a list of JSON or in Label Studio's {"choices": [...]}.

    A text that is not JSON is one label, as Label Studio writes a list of one choice.
    """

    is_multiple = True

    def split(self, cell):
        """See SingleLabel."""
        labels = parse_list(cell)
        labels = [cell] if labels is None else labels
        return [label for label in (to_text(label).strip() for label in labels) if label]


@dataclasses.dataclass(frozen=True)
class IndicatorLabels:
    """Any number of labels per row, each in a separate column with 0 or 1.

    Attributes:
      columns: Tuple of str. Names of the columns, which are the labels.
    """

    columns: tuple
    is_multiple = True

    def split(self, cells):
        """See SingleLabel. `cells`: Tuple of str, one per column.

        Raises InputError if a cell is not 0 or 1.
        """
        labels = []
        for column, cell in zip(self.columns, cells, strict=True):
            value = INDICATORS.get(to_text(cell).strip().lower())
            if value is None:
                raise InputError(f"column {column} is {cell!r:.60}; must be 0 or 1")
            if value:
                labels.append(column)
        return labels


def parse_list(cell):
    """Returns the list of labels of a cell, or None if it is not a list."""
    if isinstance(cell, str) and cell.lstrip()[:1] in ("[", "{"):
        try:
            cell = json.loads(cell)
        except (ValueError, RecursionError):
            return None
    if isinstance(cell, dict):
        cell = cell.get(CHOICES)
    if isinstance(cell, list) and not any(isinstance(label, list | dict) for label in cell):
        return cell
    return None
