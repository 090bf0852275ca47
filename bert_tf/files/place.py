"""What local and remote paths have in common."""

import typing


class Status(typing.NamedTuple):
    """Kind of a path, size in bytes, and time of the last write, in nanoseconds since 1970."""

    is_file: bool
    is_dir: bool
    size: int
    modified_ns: int


class Place:
    """A path, which need not exist: `Local` or `Remote`, which `bert_tf.files.at` chooses.

    Errors are OSErrors that name the path.

    Attributes:
      path: str.
      is_store: bool. Whether the file system is an object store, such as gs://: directories do not have to be created,
        objects appear after their upload, and a rename is a copy and a removal.
    """

    is_store = False

    def __init__(self, path):
        self.path = path

    def exists(self):
        """Returns whether it exists; raises OSError if a bucket does not exist or cannot be read."""
        return self.stat() is not None

    def is_file(self):
        """Returns whether it is a file; raises OSError like `exists`."""
        found = self.stat()
        return found is not None and found.is_file

    def is_dir(self):
        """Returns whether it is a directory; raises OSError like `exists`."""
        found = self.stat()
        return found is not None and found.is_dir

    def size(self):
        """Returns the number of bytes of the file."""
        return self.stat(required=True).size

    def modified_ns(self):
        """Returns the time of the last write to the file, in nanoseconds since 1970; if local, in whole seconds."""
        return self.stat(required=True).modified_ns

    def names_if_dir(self):
        """Returns `names()`, or an empty list if it is not a directory."""
        return self.names() if self.is_dir() else []

    def remove_any(self):
        """Removes a file, or a directory with its contents."""
        if self.is_dir():
            self.remove_tree()
        else:
            self.remove()
