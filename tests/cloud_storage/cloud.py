"""The Cloud Storage for tests: scripts that see it, and access to its objects."""

import contextlib
import dataclasses
import os
import pathlib
import sys

import pytest

from tests import fork_server, scripts
from tests.cloud_storage.server import TOKEN
from tests.cloud_storage.store import Store


def get_certificate(folder):
    """Returns the path of the server's certificate."""
    return os.path.join(folder, "certificate.pem")


def get_variables(folder):
    """Returns the environment variables by which TensorFlow's client trusts the server, and the server trusts it."""
    return {"CURL_CA_BUNDLE": get_certificate(folder), "GOOGLE_AUTH_TOKEN_FOR_TESTING": TOKEN, "NO_GCE_CHECK": "true",
            "CLOUDSDK_CONFIG": os.path.join(folder, "no_configuration"), "no_proxy": "*", "NO_PROXY": "*"}


class CloudStorage:
    """A server in a namespace, and next to it a fork server, whose scripts see the buckets as gs://BUCKET.

    Both end with this process.

    Args:
      folder: Path of an empty directory.
      buckets: Names of buckets.
    """

    def __init__(self, folder, buckets=("bucket",)):
        self.folder = os.fspath(folder)
        self.store = Store(folder)
        for bucket in buckets:
            self.store.make_bucket(bucket)
        self._address = scripts.start_server([sys.executable, "-m", "tests.cloud_storage", self.folder])

    @contextlib.contextmanager
    def entered(self):
        """A context in which tests.scripts runs scripts next to the server."""
        with pytest.MonkeyPatch.context() as patch:
            for name, value in {**get_variables(self.folder), fork_server.ADDRESS: self._address}.items():
                patch.setenv(name, value)
            patch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
            yield self

    @contextlib.contextmanager
    def ordered(self, **orders):
        """A context in which these Orders are different."""
        before = self.store.orders
        self.store.orders = dataclasses.replace(before, **orders)
        try:
            yield
        finally:
            self.store.orders = before

    def put(self, path, content):
        """Creates the object gs://... from bytes or str."""
        self.store.write(*_split(path), content if isinstance(content, bytes) else content.encode())

    def get(self, path):
        """Returns the bytes of the object gs://..."""
        return self.store.path(*_split(path)).read_bytes()

    def names(self, path):
        """Returns the relative names of the objects below gs://..., sorted, without markers of directories."""
        bucket, folder = _split(path)
        prefix = f"{folder.rstrip('/')}/" if folder else ""
        return [name[len(prefix):] for name in self.store.names(bucket, prefix) if not name.endswith("/")]

    def upload(self, source, path):
        """Copies all files of a local directory to gs://..."""
        for file in pathlib.Path(source).rglob("*"):
            if file.is_file():
                self.put(f"{path}/{file.relative_to(source).as_posix()}", file.read_bytes())

    def download(self, path, target):
        """Copies the objects below gs://... to a local directory; returns its pathlib.Path."""
        for name in self.names(path):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (target / name).write_bytes(self.get(f"{path}/{name}"))
        return target

    def requests(self, kind):
        """Returns the names of the objects in requests of a kind, in order."""
        return [each["name"] for each in self.store.requests() if each["kind"] == kind]


def _split(path):
    """Returns the bucket and the object's name in a path gs://..."""
    bucket, _, name = path.removeprefix("gs://").partition("/")
    return bucket, name
