"""Texts of cells, which are lists of words in the files of some tools."""

from bert_tf.errors import InputError
from bert_tf.files import replace_surrogates


class CellReader:
    """Converts the cells of one file to texts, and counts the lists of words that it joins.

    Args:
      path: Path of the file, for messages.

    Attributes:
      num_joined: int. Number of cells that were lists of words.
    """

    def __init__(self, path):
        self.path = path
        self.num_joined = 0

    def read_text(self, cell, line, column):
        """Returns the text of a cell. Joins words with spaces.

        Args:
          cell: str, list, or dict.
          line: int. Number of the line, for the message.
          column: str or int. Name of the column, for the message.

        Raises:
          InputError: If it is not a text or a list of words.
        """
        if isinstance(cell, str):
            return cell
        if isinstance(cell, list) and all(isinstance(word, str) for word in cell):
            self.num_joined += 1
            return replace_surrogates(" ".join(cell))
        raise InputError(f"{self.path}:{line}: {column} is {cell!r:.60}; must be a string")

    @property
    def notes(self):
        """Notes for the user, a list of str."""
        if not self.num_joined:
            return []
        return [
            f"note: {self.path}: {self.num_joined:,} texts are lists of words, which are joined "
            "with spaces"
        ]
