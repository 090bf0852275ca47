"""The stand-in for Cloud Storage does what Google documents of the requests that TensorFlow's client makes."""

import http.client
import json
import threading

import pytest

from tests.cloud_storage.server import API, READS, TOKEN, Server
from tests.cloud_storage.store import Orders, Store

OBJECTS = "/storage/v1/b/bucket/o"
UPLOADS = "/upload/storage/v1/b/bucket/o"


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path)
    store.make_bucket("bucket")
    return store


@pytest.fixture
def ask(store):
    """(method, path, body, headers) -> the status, the headers and the body of the answer."""
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
    assert headers["Location"].startswith(f"https://{API}/")
    return headers["Location"].removeprefix(f"https://{API}")


def test_a_list_has_names_and_folders_in_pages(store, ask):
    for name in ("a/b/1", "a/b/2", "a/c/1", "a/d", "a/e", "a/f", "a/g", "a/", "b", "ä ?"):
        store.write("bucket", name, b"")
    found, token = [], ""
    for entries in (5, 2):
        status, _, content = ask("GET", f"{OBJECTS}?delimiter=%2F&prefix=a%2F{token}")
        answer = json.loads(content)
        assert status == 200
        names = [each["name"] for each in answer.get("items", ())] + answer.get("prefixes", [])
        assert len(names) == entries
        found += names
        token = f"&pageToken={answer.get('nextPageToken')}"
    assert token == "&pageToken=None"
    assert sorted(found) == ["a/", "a/b/", "a/c/", "a/d", "a/e", "a/f", "a/g"]
    assert [each["name"] for each in json.loads(ask("GET", f"{OBJECTS}?prefix=%C3%A4")[2])["items"]] == ["ä ?"]
    first = json.loads(ask("GET", f"{OBJECTS}?maxResults=1")[2])
    assert [each["name"] for each in first["items"]] == ["a/"]
    assert "items" not in json.loads(ask("GET", f"{OBJECTS}?prefix=c")[2])


def test_an_object_is_described_read_in_ranges_copied_and_removed(store, ask):
    store.write("bucket", "a#/b%", b"0123456")
    described = json.loads(ask("GET", f"{OBJECTS}/a%23%2Fb%25?fields=size")[2])
    assert described["size"] == "7"
    assert ask("GET", "/bucket/a%23%2Fb%25", host=READS)[::2] == (200, b"0123456")
    status, headers, content = ask("GET", "/bucket/a%23%2Fb%25", host=READS, Range="bytes=2-4")
    assert (status, headers["Content-Range"], content) == (206, "bytes 2-4/7", b"234")
    assert ask("GET", "/bucket/a%23%2Fb%25", host=READS, Range="bytes=5-100")[::2] == (206, b"56")
    assert ask("GET", "/bucket/a%23%2Fb%25", host=READS, Range="bytes=7-100")[0] == 416
    status, _, content = ask("POST", f"{OBJECTS}/a%23%2Fb%25/rewriteTo/b/bucket/o/c%2Fd")
    assert (status, json.loads(content)["done"]) == (200, True)
    assert ask("DELETE", f"{OBJECTS}/a%23%2Fb%25")[0] == 204
    assert ask("DELETE", f"{OBJECTS}/a%23%2Fb%25")[0] == 404
    assert store.names("bucket") == ["c/d"]
    assert store.read("bucket", "c/d") == b"0123456"
    assert json.loads(ask("GET", f"{OBJECTS}/c%2Fd")[2])["generation"] > described["generation"]


def test_an_upload_in_one_request(store, ask):
    path = f"{UPLOADS}?uploadType=media&name=folder%2F&ifGenerationMatch=0"
    assert [ask("POST", path, b"")[0] for _ in range(2)] == [200, 412]
    assert store.names("bucket") == ["folder/"]


def test_an_object_appears_when_its_upload_has_ended(store, ask):
    store.write("bucket", "a", b"old")
    path = begin(ask, "a")
    assert ask("PUT", path, b"", Content_Range="bytes */7")[:2][0] == 308
    status, headers, _ = ask("PUT", path, b"012", Content_Range="bytes 0-2/7")
    assert (status, headers["Range"]) == (308, "bytes=0-2")
    assert ask("PUT", path, b"", Content_Range="bytes */7")[1]["Range"] == "bytes=0-2"
    assert store.read("bucket", "a") == b"old"
    assert ask("PUT", path, b"5", Content_Range="bytes 5-5/7")[0] == 400
    assert ask("PUT", path, b"23456", Content_Range="bytes 2-6/7")[0] == 200
    assert store.read("bucket", "a") == b"0123456"
    assert ask("PUT", path, b"", Content_Range="bytes */7")[0] == 200
    assert [each["kind"] for each in store.requests()].count("upload") == 1


@pytest.mark.parametrize("body", [b"", b"012"])
def test_an_upload_without_a_range_is_whole(store, ask, body):
    assert ask("PUT", begin(ask, "a"), body)[0] == 200
    assert store.read("bucket", "a") == body


def test_a_body_in_chunks(store, ask):
    assert ask("PUT", begin(ask, "a"), iter([b"0123456789", b"abcdefghi"]))[0] == 200
    assert store.read("bucket", "a") == b"0123456789abcdefghi"


def test_an_upload_that_breaks_goes_on_where_it_broke(store, ask):
    store.give(Orders(cut="^a$"))
    path = begin(ask, "a")
    with pytest.raises((http.client.RemoteDisconnected, ConnectionError)):
        ask("PUT", path, b"012345", Content_Range="bytes 0-5/6")
    assert store.names("bucket") == []
    assert ask("PUT", path, b"", Content_Range="bytes */6")[1]["Range"] == "bytes=0-2"
    assert ask("PUT", path, b"345", Content_Range="bytes 3-5/6")[0] == 200
    assert store.read("bucket", "a") == b"012345"


def test_a_write_that_is_held_never_takes_place(store, ask):
    store.write("bucket", "a", b"old")
    store.give(Orders(hold="^b"))
    broken = []

    def copy():
        with pytest.raises((http.client.RemoteDisconnected, ConnectionError)):
            ask("POST", f"{OBJECTS}/a/rewriteTo/b/bucket/o/b")
        broken.append(True)

    thread = threading.Thread(target=copy)
    thread.start()
    while not any(each["kind"] == "held" for each in store.requests()):
        pass
    assert not broken
    store.give(Orders())
    thread.join()
    assert broken
    assert store.names("bucket") == ["a"]


def test_refusals(store, ask):
    store.write("bucket", "a", b"")
    assert ask("GET", f"{OBJECTS}/a", token=None)[0] == 401
    assert ask("GET", f"{OBJECTS}/a", token="other")[0] == 401
    assert ask("GET", f"{OBJECTS}/b")[0] == 404
    assert ask("GET", "/storage/v1/b/nothing/o")[0] == 404
    assert ask("POST", "/upload/storage/v1/b/nothing/o?uploadType=resumable&name=a")[0] == 404
    assert ask("GET", "/storage/v1/b/bucket/acl")[0] == 400
    store.give(Orders(refused={"bucket": ["write"]}))
    assert ask("GET", f"{OBJECTS}/a")[0] == 200
    status, _, content = ask("POST", f"{UPLOADS}?uploadType=resumable&name=a")
    assert status == 403
    assert json.loads(content)["error"]["code"] == 403
