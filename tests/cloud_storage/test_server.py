"""Properties of the server without which tests/end_to_end/test_cloud_storage.py would prove nothing."""

import http.client
import threading
import time

import pytest

from tests.cloud_storage.server import API, TOKEN, Server
from tests.cloud_storage.store import Orders, Store

OBJECTS = "/storage/v1/b/bucket/o"
UPLOADS = "/upload/storage/v1/b/bucket/o"
BROKEN = (http.client.RemoteDisconnected, ConnectionError)


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path)
    store.make_bucket("bucket")
    return store


@pytest.fixture
def ask(store):
    """Function of method, path, body, and headers; returns the status, the headers, and the body of the answer."""
    with Server(store) as server:
        def ask(method, path, body=None, host=API, token=TOKEN, **headers):
            connection = http.client.HTTPConnection(*server.server_address, timeout=20)
            headers = {"Host": host, **{key.replace("_", "-"): value for key, value in headers.items()}}
            if token:
                headers["Authorization"] = f"Bearer {token}"
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            content = answer.read()
            connection.close()
            return answer.status, answer.headers, content
        yield ask


def test_object_appears_when_its_upload_is_complete(store, ask):
    store.write("bucket", "a", b"old")
    status, headers, _ = ask("POST", f"{UPLOADS}?uploadType=resumable&name=a")
    assert status == 200
    path = headers["Location"].removeprefix(f"https://{API}")
    assert ask("PUT", path, b"", Content_Range="bytes */7")[0] == 308
    status, headers, _ = ask("PUT", path, b"012", Content_Range="bytes 0-2/7")
    assert (status, headers["Range"]) == (308, "bytes=0-2")
    assert store.path("bucket", "a").read_bytes() == b"old"
    assert ask("PUT", path, b"5", Content_Range="bytes 5-5/7")[0] == 400
    assert ask("PUT", path, b"23456", Content_Range="bytes 2-6/7")[0] == 200
    assert store.path("bucket", "a").read_bytes() == b"0123456"


def test_write_that_is_held_never_happens(store, ask):
    store.write("bucket", "a", b"old")
    store.orders = Orders(hold="^b")
    errors = []

    def copy():
        try:
            ask("POST", f"{OBJECTS}/a/rewriteTo/b/bucket/o/b")
        except BROKEN as error:
            errors.append(error)

    thread = threading.Thread(target=copy)
    thread.start()
    while not any(each["kind"] == "held" for each in store.requests()):
        time.sleep(0.01)
    assert not errors
    store.orders = Orders()
    thread.join()
    assert errors
    assert store.names("bucket") == ["a"]
