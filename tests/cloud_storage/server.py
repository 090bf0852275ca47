"""The server: as much of Cloud Storage's JSON API as TensorFlow's gs:// client uses.

Google documents it at https://cloud.google.com/storage/docs/json_api: lists with prefix, delimiter and pages, metadata,
ranged reads, uploads in one request or resumable, copies, deletion. An object appears when its upload has ended.
"""

import http.server
import json
import re
import ssl
import sys
import threading
import time
import urllib.parse
import uuid

API = "www.googleapis.com"
READS = "storage.googleapis.com"  # the host of reads: https://READS/BUCKET/OBJECT
HOSTS = (API, READS, "oauth2.googleapis.com")
TOKEN = "a-token-of-the-tests"  # what a client must show
POLL_SECONDS = 0.01  # between looks whether the server is to end, or an order to hold still stands

# method, path, the handler's function. {bucket} and {name} are percent-encoded parts of the path.
ROUTES = [(method, re.compile(re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", path)), function) for method, path, function in (
    ("GET", "/storage/v1/b/{bucket}", "describe_bucket"),
    ("GET", "/storage/v1/b/{bucket}/storageLayout", "describe_layout"),
    ("GET", "/storage/v1/b/{bucket}/o", "list_objects"),
    ("GET", "/storage/v1/b/{bucket}/o/{name}", "describe_or_read"),
    ("DELETE", "/storage/v1/b/{bucket}/o/{name}", "remove"),
    ("POST", "/storage/v1/b/{bucket}/o/{name}/rewriteTo/b/{to_bucket}/o/{to_name}", "copy"),
    ("POST", "/upload/storage/v1/b/{bucket}/o", "begin_upload"),
    ("PUT", "/upload/storage/v1/b/{bucket}/o", "upload"),
)]
READ = re.compile("/(?P<bucket>[^/]+)/(?P<name>.+)")


class RefusalError(Exception):
    """An answer that is an error: HTTP status, and what the client is told."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


class Server(http.server.ThreadingHTTPServer):
    """Serves a Store.

    A context manager: it serves in threads of its own until the end of the block.
    """

    request_queue_size = 64

    def __init__(self, store, address=("127.0.0.1", 0), tls=None):
        """store: a Store. address: host and port, 0 for any. tls: an ssl.SSLContext; None serves in plain HTTP."""
        super().__init__(address, _Handler)
        self.store = store
        self.uploads = {}  # id -> _Upload
        self.was_cut = set()  # (bucket, name) of uploads that broke
        self._tls = tls

    def __enter__(self):
        threading.Thread(target=self.serve_forever, args=(POLL_SECONDS,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()

    def finish_request(self, request, client_address):
        if self._tls is None:
            super().finish_request(request, client_address)
        else:  # here, in the thread of this connection: no other waits for the handshake
            with self._tls.wrap_socket(request, server_side=True) as secure:
                super().finish_request(secure, client_address)

    def handle_error(self, request, client_address):
        if not isinstance(sys.exception(), ConnectionError | ssl.SSLError):  # clients are killed
            super().handle_error(request, client_address)


class _Upload:
    """A resumable upload: what has come so far. `object` is the Object made of it, None before its end."""

    def __init__(self, bucket, name):
        self.bucket, self.name, self.content, self.object = bucket, name, b"", None


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        """Nothing: the store has a list of requests."""

    def answer_request(self):
        try:
            self.dispatch()
        except RefusalError as refusal:
            self.close_connection = True  # the request may have a body, which nobody has read
            error = {"code": refusal.status, "message": str(refusal),
                     "errors": [{"message": str(refusal), "domain": "global"}]}
            self.answer(refusal.status, {"error": error})

    do_GET = do_POST = do_PUT = do_DELETE = answer_request  # noqa: N815 (the names that http.server calls)

    def dispatch(self):
        url = urllib.parse.urlsplit(self.path)
        self.query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        self.store = self.server.store
        routes = [("GET", READ, "read")] if self.headers["Host"] == READS else ROUTES
        for method, pattern, function in routes:
            match = pattern.fullmatch(url.path)
            if match and method == self.command:
                return getattr(self, function)(**{key: urllib.parse.unquote(part)
                                                  for key, part in match.groupdict().items()})
        raise RefusalError(400, f"{self.command} {self.path} is not served")

    def permit(self, bucket, *actions):
        """Refuses what the client may not do with a bucket, or a bucket that is not there."""
        authorization = self.headers.get("Authorization")
        if authorization != f"Bearer {TOKEN}":
            raise RefusalError(401, "Invalid Credentials" if authorization else
                          f"Anonymous caller does not have storage.objects.{actions[0]} access to {bucket}.")
        if not self.store.has_bucket(bucket):
            raise RefusalError(404, "The specified bucket does not exist.")
        for action in actions:
            if action in self.store.orders().refused.get(bucket, ()):
                raise RefusalError(403, f"tester@example.com does not have storage.objects.{action} access to the "
                                        f"bucket {bucket}.\nPermission denied on resource (or it may not exist).")

    # Buckets and lists.

    def describe_bucket(self, bucket):
        self.permit(bucket, "bucket")
        self.store.note("bucket", bucket, "")
        self.answer(200, {"kind": "storage#bucket", "id": bucket, "name": bucket, "location": "EUROPE-WEST4"})

    def describe_layout(self, bucket):
        self.permit(bucket, "list")
        self.store.note("layout", bucket, "")
        self.answer(200, {"kind": "storage#storageLayout", "bucket": bucket, "location": "EUROPE-WEST4",
                          "hierarchicalNamespace": {"enabled": False}})

    def list_objects(self, bucket):
        self.permit(bucket, "list")
        prefix, delimiter = self.query.get("prefix", ""), self.query.get("delimiter")
        entries = {}  # name, or what names have in common up to the delimiter -> whether it is the latter
        for name in self.store.names(bucket, prefix):
            start, found, _ = name[len(prefix):].partition(delimiter) if delimiter else (name, "", "")
            entries[prefix + start + found if found else name] = bool(found)
        left = sorted(each for each in entries if each > self.query.get("pageToken", ""))
        page = left[: min(self.store.orders().page, int(self.query.get("maxResults", 1000)))]
        answer = {"kind": "storage#objects"}
        items = [self.metadata(bucket, self.store.object(bucket, each)) for each in page if not entries[each]]
        prefixes = [each for each in page if entries[each]]
        answer |= {"items": items} if items else {}
        answer |= {"prefixes": prefixes} if prefixes else {}
        answer |= {"nextPageToken": page[-1]} if len(page) < len(left) else {}
        self.store.note("list", bucket, prefix)
        self.answer(200, answer)

    # Objects.

    def describe_or_read(self, bucket, name):
        if self.query.get("alt") == "media":
            return self.read(bucket, name)
        self.permit(bucket, "read")
        found = self.find(bucket, name)
        self.store.note("metadata", bucket, name)
        return self.answer(200, self.metadata(bucket, found))

    def read(self, bucket, name):
        self.permit(bucket, "read")
        self.find(bucket, name)
        content = self.store.read(bucket, name)
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if not wanted:
            self.store.note("read", bucket, name, len(content))
            return self.answer(200, content)
        first = int(wanted[1])
        if first >= len(content):
            self.store.note("read", bucket, name)
            return self.answer(416, b"", {"Content-Range": f"bytes */{len(content)}"})
        part = content[first : int(wanted[2]) + 1 if wanted[2] else None]
        self.store.note("read", bucket, name, len(part))
        return self.answer(206, part,
                           {"Content-Range": f"bytes {first}-{first + len(part) - 1}/{len(content)}"})

    def remove(self, bucket, name):
        self.permit(bucket, "write")
        self.find(bucket, name)
        self.store.remove(bucket, name)
        self.store.note("remove", bucket, name)
        self.answer(204)

    def copy(self, bucket, name, to_bucket, to_name):
        self.receive()
        self.permit(bucket, "read")
        self.permit(to_bucket, "write")
        self.find(bucket, name)
        self.wait_while_held(to_bucket, to_name)
        content = self.store.read(bucket, name)
        self.store.write(to_bucket, to_name, content)
        self.store.note("copy", to_bucket, to_name, len(content))
        self.answer(200, {"kind": "storage#rewriteResponse", "done": True, "objectSize": str(len(content)),
                          "totalBytesRewritten": str(len(content)),
                          "resource": self.metadata(to_bucket, self.store.object(to_bucket, to_name))})

    # Uploads.

    def begin_upload(self, bucket):
        content = self.receive()
        self.permit(bucket, "write")
        name = self.query["name"]
        if self.query["uploadType"] == "resumable":
            number = uuid.uuid4().hex
            self.server.uploads[number] = _Upload(bucket, name)
            query = urllib.parse.urlencode({"uploadType": "resumable", "name": name, "upload_id": number})
            location = f"https://{API}/upload/storage/v1/b/{urllib.parse.quote(bucket)}/o?{query}"
            return self.answer(200, b"", {"Location": location})
        if self.query.get("ifGenerationMatch") == "0" and name in self.store.names(bucket, name):
            raise RefusalError(412, "At least one of the pre-conditions you specified did not hold.")
        return self.answer(200, self.metadata(bucket, self.make_object(bucket, name, content)))

    def upload(self, bucket):
        self.permit(bucket, "write")
        upload = self.server.uploads.get(self.query["upload_id"])
        if upload is None:
            raise RefusalError(404, "No such upload.")
        span = re.fullmatch(r"bytes (?:(\d+)-\d+|\*)/(\d+)", self.headers.get("Content-Range", ""))
        if span and span[1] is None:  # it asks what has come
            self.receive()
            self.store.note("status", bucket, upload.name)
        else:
            self.continue_upload(upload, int(span[1]) if span else 0)
        if upload.object is None and len(upload.content) == (int(span[2]) if span else len(upload.content)):
            upload.object = self.make_object(bucket, upload.name, upload.content)
        if upload.object is not None:
            return self.answer(200, self.metadata(bucket, upload.object))
        come = {"Range": f"bytes=0-{len(upload.content) - 1}"} if upload.content else {}
        return self.answer(308, b"", come)

    def continue_upload(self, upload, first):
        """Takes what a client sends of an upload, from byte `first` on."""
        if first > len(upload.content):
            raise RefusalError(400, f"Byte {len(upload.content)} is the next.")
        cut, place = self.store.orders().cut, (upload.bucket, upload.name)
        if cut and re.search(cut, upload.name) and place not in self.server.was_cut:
            self.server.was_cut.add(place)
            content = self.receive()  # TensorFlow's client sends it in chunks: half of the bytes need not be half of it
            upload.content = upload.content[:first] + content[: len(content) // 2]
            self.store.note("cut", *place, len(upload.content))
            raise ConnectionAbortedError
        self.wait_while_held(*place)
        upload.content = upload.content[:first] + self.receive()

    def make_object(self, bucket, name, content):
        """Makes an object of a whole upload; returns it."""
        self.store.write(bucket, name, content)
        self.store.note("upload", bucket, name, len(content))
        return self.store.object(bucket, name)

    def wait_while_held(self, bucket, name):
        """Where writes to this name are held, waits for the end of that, and then drops the connection."""
        hold = self.store.orders().hold
        if hold and re.search(hold, name):
            self.store.note("held", bucket, name)
            while self.store.orders().hold == hold:
                time.sleep(POLL_SECONDS)
            raise ConnectionAbortedError

    # What requests and answers are made of.

    def receive(self):
        """The body of the request."""
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            size = int(self.headers.get("Content-Length", 0))
            content = self.rfile.read(size)
            if len(content) < size:
                raise ConnectionAbortedError
            return content
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def find(self, bucket, name):
        """The Object of a name; refuses one that is not there."""
        try:
            return self.store.object(bucket, name)
        except FileNotFoundError:
            raise RefusalError(404, f"No such object: {bucket}/{name}") from None

    def metadata(self, bucket, found):
        seconds, nanoseconds = divmod(found.generation, 10**9)
        when = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{nanoseconds // 10**6:03d}Z"
        return {"kind": "storage#object", "bucket": bucket, "name": found.name, "size": str(found.size),
                "generation": str(found.generation), "timeCreated": when, "updated": when}

    def answer(self, status, content=b"", headers=None):
        """Sends an answer; content: bytes, or what JSON can say."""
        headers = dict(headers or {})
        if not isinstance(content, bytes):
            content = json.dumps(content, indent=2).encode()
            headers["Content-Type"] = "application/json; charset=UTF-8"
        self.send_response(status)
        for key, value in {**headers, "Content-Length": len(content)}.items():
            self.send_header(key, str(value))
        self.end_headers()
        self.wfile.write(content)
