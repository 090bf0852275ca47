"""The Cloud Storage as a test has it: scripts that see it, and what is in it."""

import contextlib
import dataclasses
import os
import pathlib
import sys

import pytest

from tests import fork_server, scripts
from tests.cloud_storage.namespace import reason_to_skip
from tests.cloud_storage.server import TOKEN
from tests.cloud_storage.store import Store

__all__ = ["CloudStorage", "certificate", "reason_to_skip", "variables"]


def certificate(folder):
    """The path of the server's certificate."""
    return os.path.join(folder, "certificate.pem")


def variables(folder):
    """The environment variables by which TensorFlow's client trusts the server, and the server it."""
    return {"CURL_CA_BUNDLE": certificate(folder), "GOOGLE_AUTH_TOKEN_FOR_TESTING": TOKEN, "NO_GCE_CHECK": "true",
            "CLOUDSDK_CONFIG": os.path.join(folder, "no_configuration"), "no_proxy": "*", "NO_PROXY": "*"}


class CloudStorage:
    """A server in a namespace, and a fork server beside it, whose scripts see the buckets as gs://BUCKET."""

    def __init__(self, folder, buckets=("bucket",)):
        """Starts both, which end with this process; folder: an empty folder, which stays."""
        self.folder = os.fspath(folder)
        self.store = Store(self.folder)
        for bucket in buckets:
            self.store.make_bucket(bucket)
        self._address = scripts.start_server([sys.executable, "-m", "tests.cloud_storage", self.folder])

    @contextlib.contextmanager
    def entered(self):
        """A context in which tests.scripts runs scripts where the server is."""
        with pytest.MonkeyPatch.context() as patch:
            for name, value in {**variables(self.folder), fork_server.ADDRESS: self._address}.items():
                patch.setenv(name, value)
            patch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
            yield self

    @contextlib.contextmanager
    def ordered(self, **orders):
        """A context in which the server does as `orders` say: keyword arguments of Orders."""
        before = self.store.orders()
        self.store.give(dataclasses.replace(before, **orders))
        try:
            yield
        finally:
            self.store.give(before)

    def put(self, path, content):
        """Makes the object gs://... of bytes or str."""
        self.store.write(*_split(path), content if isinstance(content, bytes) else content.encode())

    def get(self, path):
        """The bytes of the object gs://..."""
        return self.store.read(*_split(path))

    def text(self, path):
        """The text of the object gs://..."""
        return self.get(path).decode()

    def names(self, path):
        """The names of the objects below a folder gs://..., without the folder's, sorted.

        Objects that stand for a folder, of a name that ends in "/", are left out.
        """
        bucket, folder = _split(path)
        prefix = f"{folder.rstrip('/')}/" if folder else ""
        return [name[len(prefix):] for name in self.store.names(bucket, prefix) if not name.endswith("/")]

    def upload(self, source, path):
        """Copies all files of a local folder into the folder gs://..."""
        source = pathlib.Path(source)
        for file in source.rglob("*"):
            if file.is_file():
                self.put(f"{path}/{file.relative_to(source).as_posix()}", file.read_bytes())

    def download(self, path, target):
        """Copies the objects below a folder gs://... into a local folder; returns it as a pathlib.Path."""
        target = pathlib.Path(target)
        for name in self.names(path):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (target / name).write_bytes(self.get(f"{path}/{name}"))
        return target

    def requests(self, kind, after=0):
        """The names of the objects that requests of a kind were about, in order; after: how many lines to leave out."""
        return [each["name"] for each in self.store.requests()[after:] if each["kind"] == kind]


def _split(path):
    """The bucket and the object's name of a path gs://..."""
    bucket, _, name = path.removeprefix("gs://").partition("/")
    return bucket, name
