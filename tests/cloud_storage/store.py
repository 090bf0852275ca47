"""The files of the server, which tests read and write too: buckets, objects, requests, orders.

    buckets/BUCKET/QUOTED_NAME   an object; its name is percent-encoded
    requests.jsonl               a line for each answered request
    orders.json                  the required behavior
"""

import dataclasses
import json
import os
import pathlib
import threading
import urllib.parse
import uuid


@dataclasses.dataclass(frozen=True)
class Orders:
    """The behavior that a test requires of the server.

    Attributes:
      forbidden: Dict of bucket to a list of forbidden actions: "read", "write", "list", "bucket".
      hold: Regular expression for names of objects. Their writes wait until this order changes, and then fail.
      page: Maximum number of entries in an answer to a list request. Google's is 1000.
    """

    forbidden: dict = dataclasses.field(default_factory=dict)
    hold: str = ""
    page: int = 5


class Store:
    """Buckets and their objects in a directory, which is created if it does not exist."""

    def __init__(self, folder):
        self._folder = pathlib.Path(folder)
        self._lock = threading.Lock()
        for name in ("buckets", "unfinished"):
            (self._folder / name).mkdir(parents=True, exist_ok=True)

    @property
    def orders(self):
        try:
            return Orders(**json.loads((self._folder / "orders.json").read_text(encoding="utf-8")))
        except FileNotFoundError:
            return Orders()

    @orders.setter
    def orders(self, orders):
        self._replace(self._folder / "orders.json", json.dumps(dataclasses.asdict(orders)).encode())

    def add_request(self, kind, name):
        line = json.dumps({"kind": kind, "name": name})
        with self._lock, open(self._folder / "requests.jsonl", "a", encoding="utf-8") as file:
            file.write(f"{line}\n")

    def requests(self):
        """Returns the answered requests: list of dicts of kind and name (of the object)."""
        try:
            text = (self._folder / "requests.jsonl").read_text(encoding="utf-8")
        except FileNotFoundError:
            return []
        return [json.loads(line) for line in text.rpartition("\n")[0].splitlines()]  # The last line may be incomplete.

    def make_bucket(self, bucket):
        (self._folder / "buckets" / bucket).mkdir(exist_ok=True)

    def has_bucket(self, bucket):
        return (self._folder / "buckets" / bucket).is_dir()

    def path(self, bucket, name):
        """Returns the path of an object's bytes."""
        return self._folder / "buckets" / bucket / urllib.parse.quote(name, safe="")

    def names(self, bucket, prefix=""):
        """Returns the names of a bucket's objects that begin with `prefix`, sorted."""
        names = map(urllib.parse.unquote, os.listdir(self._folder / "buckets" / bucket))
        return sorted(name for name in names if name.startswith(prefix))

    def write(self, bucket, name, content):
        """Creates or replaces an object atomically."""
        self._replace(self.path(bucket, name), content)

    def _replace(self, path, content):
        unfinished = self._folder / "unfinished" / uuid.uuid4().hex
        unfinished.write_bytes(content)
        unfinished.replace(path)
