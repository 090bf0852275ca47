"""What the server keeps, in a folder that tests read and write too: buckets, objects, requests, orders.

    buckets/BUCKET/QUOTED_NAME   an object, its name percent-encoded
    requests.jsonl               a line for each request that the server has answered
    orders.json                  what tests want of the server
"""

import contextlib
import dataclasses
import json
import os
import threading
import time
import urllib.parse
import uuid


@dataclasses.dataclass(frozen=True)
class Orders:
    """What a test wants of the server, from now on."""

    refused: dict = dataclasses.field(default_factory=dict)  # bucket -> list of "read", "write", "list", "bucket"
    hold: str = ""  # regular expression: who writes an object of such a name waits, as long as this order stands
    cut: str = ""  # regular expression: the connection of the first upload to such a name breaks in its middle
    page: int = 5  # most entries of one answer to a list; Google's is 1000


@dataclasses.dataclass(frozen=True)
class Object:
    """An object: its name, its size in bytes, and its generation, which grows with each version."""

    name: str
    size: int
    generation: int


class Store:
    """Buckets and their objects, in a folder. A bucket exists where its folder does."""

    def __init__(self, folder):
        """folder: path; made if missing."""
        self._folder = os.fspath(folder)
        self._lock = threading.Lock()
        os.makedirs(os.path.join(self._folder, "buckets"), exist_ok=True)
        os.makedirs(os.path.join(self._folder, "unfinished"), exist_ok=True)

    def orders(self):
        """The Orders that stand."""
        try:
            with open(os.path.join(self._folder, "orders.json"), encoding="utf-8") as file:
                return Orders(**json.load(file))
        except FileNotFoundError:
            return Orders()

    def give(self, orders):
        """Replaces the orders that stand."""
        path = os.path.join(self._folder, "orders.json")
        with open(f"{path}.new", "w", encoding="utf-8") as file:
            json.dump(dataclasses.asdict(orders), file)
        os.replace(f"{path}.new", path)

    def note(self, kind, bucket, name, size=0):
        """Adds a line to the list of requests."""
        line = json.dumps({"kind": kind, "bucket": bucket, "name": name, "size": size, "time": time.time()})
        with self._lock, open(os.path.join(self._folder, "requests.jsonl"), "a", encoding="utf-8") as file:
            file.write(f"{line}\n")

    def requests(self):
        """The requests answered so far: list of dicts of kind, bucket, name (of the object), size (bytes) and time."""
        with contextlib.suppress(FileNotFoundError), open(os.path.join(self._folder, "requests.jsonl"),
                                                          encoding="utf-8") as file:
            # Read at once: line by line, the rest of a line that is being written would be taken for one of its own.
            return [json.loads(line) for line in file.read().rpartition("\n")[0].splitlines()]
        return []

    def make_bucket(self, bucket):
        os.makedirs(self._bucket(bucket), exist_ok=True)

    def has_bucket(self, bucket):
        return os.path.isdir(self._bucket(bucket))

    def path(self, bucket, name):
        """Where an object's bytes are."""
        return os.path.join(self._bucket(bucket), urllib.parse.quote(name, safe=""))

    def names(self, bucket, prefix=""):
        """The names of a bucket's objects that begin with `prefix`, sorted."""
        names = map(urllib.parse.unquote, os.listdir(self._bucket(bucket)))
        return sorted(name for name in names if name.startswith(prefix))

    def object(self, bucket, name):
        """The Object of a name; FileNotFoundError if there is none."""
        found = os.stat(self.path(bucket, name))
        return Object(name, found.st_size, found.st_mtime_ns)

    def read(self, bucket, name):
        """An object's bytes; FileNotFoundError if there is none."""
        with open(self.path(bucket, name), "rb") as file:
            return file.read()

    def write(self, bucket, name, content):
        """Makes an object of bytes, in place of one of that name: readers see the old one or the new one, whole."""
        unfinished = os.path.join(self._folder, "unfinished", uuid.uuid4().hex)
        with open(unfinished, "wb") as file:
            file.write(content)
        os.replace(unfinished, self.path(bucket, name))

    def remove(self, bucket, name):
        """Removes an object; FileNotFoundError if there is none."""
        os.remove(self.path(bucket, name))

    def _bucket(self, bucket):
        return os.path.join(self._folder, "buckets", bucket)
