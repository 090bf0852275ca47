"""The server does what Google documents, as far as tests/end_to_end/test_cloud_storage.py does not show it."""

import http.client
import json
import threading
import time

import pytest

from tests.cloud_storage.server import API, READS, TOKEN, Server
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


def begin(ask, name):
    """Begins a resumable upload; returns the path to send it to."""
    status, headers, _ = ask("POST", f"{UPLOADS}?uploadType=resumable&name={name}")
    assert status == 200
    return headers["Location"].removeprefix(f"https://{API}")


def test_list_has_names_and_directories_in_pages(store, ask):
    for name in ("a/b/1", "a/b/2", "a/c/1", "a/d", "a/e", "a/f", "a/g", "a/", "b"):
        store.write("bucket", name, b"")
    found, token = [], ""
    for entries in (5, 2):
        answer = json.loads(ask("GET", f"{OBJECTS}?delimiter=%2F&prefix=a%2F{token}")[2])
        names = [each["name"] for each in answer.get("items", ())] + answer.get("prefixes", [])
        assert len(names) == entries
        found += names
        token = f"&pageToken={answer.get('nextPageToken')}"
    assert token == "&pageToken=None"
    assert sorted(found) == ["a/", "a/b/", "a/c/", "a/d", "a/e", "a/f", "a/g"]


def test_ranges(store, ask):
    store.write("bucket", "a#/b%", b"0123456")
    for requested, status, expected in (("2-4", 206, b"234"), ("5-100", 206, b"56"), ("7-100", 416, b"")):
        assert ask("GET", "/bucket/a%23%2Fb%25", host=READS, Range=f"bytes={requested}")[::2] == (status, expected)


def test_object_appears_when_its_upload_is_complete(store, ask):
    store.write("bucket", "a", b"old")
    path = begin(ask, "a")
    assert ask("PUT", path, b"", Content_Range="bytes */7")[0] == 308
    status, headers, _ = ask("PUT", path, b"012", Content_Range="bytes 0-2/7")
    assert (status, headers["Range"]) == (308, "bytes=0-2")
    assert store.path("bucket", "a").read_bytes() == b"old"
    assert ask("PUT", path, b"5", Content_Range="bytes 5-5/7")[0] == 400
    assert ask("PUT", path, b"23456", Content_Range="bytes 2-6/7")[0] == 200
    assert store.path("bucket", "a").read_bytes() == b"0123456"


def test_upload_that_breaks_can_continue(store, ask):
    store.orders = Orders(cut="^a$")
    path = begin(ask, "a")
    with pytest.raises(BROKEN):
        ask("PUT", path, b"012345", Content_Range="bytes 0-5/6")
    assert store.names("bucket") == []
    assert ask("PUT", path, b"", Content_Range="bytes */6")[1]["Range"] == "bytes=0-2"
    assert ask("PUT", path, b"345", Content_Range="bytes 3-5/6")[0] == 200
    assert store.path("bucket", "a").read_bytes() == b"012345"


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
