"""The names in a directory, which are listed once."""

import os

from bert_tf import files


class Folder:
    """A local or remote directory, whose names are listed once.

    Attributes:
      path: str. Path of the directory, without a separator at the end.
      names: Sorted list of str. Names of the files and directories in it.
    """

    def __init__(self, path, entries=None):
        """Creates a directory.

        Args:
          path: str.
          entries: Dict of name -> whether it is a directory. None for a directory without files.
        """
        self.path = path.rstrip("/") or path
        self._entries = entries or {}
        self._inner = {}

    @classmethod
    def read(cls, path):
        """Lists a directory; returns None if the path is not one.

        Raises OSError if the directory cannot be read.
        """
        entries = files.at(path).entries_if_dir()
        return None if entries is None else cls(path, entries)

    @property
    def names(self):
        """Sorted names of its files and directories."""
        return sorted(self._entries)

    def exists(self, name):
        """Returns whether there is a file or a directory of this name."""
        return self._is_dir(name) is not None

    def has_file(self, name):
        """Returns whether there is a file of this name, which can be in a directory inside."""
        return self._is_dir(name) is False

    def join(self, name):
        """Returns the path of a name in the directory."""
        return os.path.join(self.path, name)

    def _is_dir(self, name):
        """Returns whether a name belongs to a directory; None if it does not exist."""
        first, separator, rest = name.partition("/")
        if not separator:
            return self._entries.get(name)
        if not self._entries.get(first):
            return None
        return self.get_folder(first)._is_dir(rest)

    def get_folder(self, name):
        """Returns the Folder of a directory inside."""
        if name not in self._inner:
            self._inner[name] = Folder.read(self.join(name)) or Folder(self.join(name))
        return self._inner[name]
