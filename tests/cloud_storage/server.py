"""The part of Cloud Storage's JSON API that TensorFlow's gs:// client uses.

Google documents it at https://cloud.google.com/storage/docs/json_api: lists with prefix, delimiter, and pages,
metadata, ranged reads, uploads in one request or resumable, copies, and deletion. An object appears when its upload is
complete.
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
READS = "storage.googleapis.com"  # The host of reads: https://READS/BUCKET/OBJECT
HOSTS = (API, READS, "oauth2.googleapis.com")
TOKEN = "a-token-of-the-tests"  # The client must send it.
POLL_SECONDS = 0.01

# Method, path, the handler's function. {bucket} and {name} are percent-encoded parts of the path.
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
    """An error answer: HTTP status and message."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


class Server(http.server.ThreadingHTTPServer):
    """Serves a Store in its own threads, until the end of a `with` block.

    Args:
      store: Store.
      address: Host and port, 0 for any.
      tls: ssl.SSLContext. None serves plain HTTP.
    """

    request_queue_size = 64

    def __init__(self, store, address=("127.0.0.1", 0), tls=None):
        super().__init__(address, _Handler)
        self.store = store
        self.uploads = {}  # ID -> _Upload.
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
        else:  # In the thread of this connection, so that no other connection waits for the handshake.
            with self._tls.wrap_socket(request, server_side=True) as secure:
                super().finish_request(secure, client_address)

    def handle_error(self, request, client_address):
        if not isinstance(sys.exception(), ConnectionError | ssl.SSLError):  # Clients are killed.
            super().handle_error(request, client_address)


class _Upload:
    """A resumable upload, with the bytes received to date."""

    def __init__(self, bucket, name):
        self.bucket, self.name, self.content, self.is_complete = bucket, name, b"", False


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        """Prints nothing: the store has a list of requests."""

    def answer_request(self):
        try:
            self.dispatch()
        except RefusalError as refusal:
            self.close_connection = True  # The body of the request may not have been read.
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

    def permit(self, bucket, action):
        """Rejects forbidden actions, and buckets that do not exist."""
        authorization = self.headers.get("Authorization")
        if authorization != f"Bearer {TOKEN}":
            raise RefusalError(401, "Invalid Credentials" if authorization else
                               f"Anonymous caller does not have storage.objects.{action} access to {bucket}.")
        if not self.store.has_bucket(bucket):
            raise RefusalError(404, "The specified bucket does not exist.")
        if action in self.store.orders.forbidden.get(bucket, ()):
            raise RefusalError(403, f"tester@example.com does not have storage.objects.{action} access to the bucket "
                                    f"{bucket}.\nPermission denied on resource (or it may not exist).")

    # Buckets and lists.

    def describe_bucket(self, bucket):
        self.permit(bucket, "bucket")
        self.store.add_request("bucket", "")
        self.answer(200, {"kind": "storage#bucket", "id": bucket, "name": bucket, "location": "EUROPE-WEST4"})

    def describe_layout(self, bucket):
        self.permit(bucket, "list")
        self.store.add_request("layout", "")
        self.answer(200, {"kind": "storage#storageLayout", "bucket": bucket, "location": "EUROPE-WEST4",
                          "hierarchicalNamespace": {"enabled": False}})

    def list_objects(self, bucket):
        self.permit(bucket, "list")
        prefix, delimiter = self.query.get("prefix", ""), self.query.get("delimiter")
        entries = {}  # Name, or the part of names up to the delimiter -> whether it is such a part.
        for name in self.store.names(bucket, prefix):
            start, found, _ = name[len(prefix):].partition(delimiter) if delimiter else (name, "", "")
            entries[prefix + start + found if found else name] = bool(found)
        left = sorted(each for each in entries if each > self.query.get("pageToken", ""))
        page = left[: min(self.store.orders.page, int(self.query.get("maxResults", 1000)))]
        answer = {"kind": "storage#objects",
                  "items": [self.metadata(bucket, each) for each in page if not entries[each]],
                  "prefixes": [each for each in page if entries[each]],
                  "nextPageToken": page[-1] if len(page) < len(left) else None}
        self.store.add_request("list", prefix)
        self.answer(200, {key: value for key, value in answer.items() if value})

    # Objects.

    def describe_or_read(self, bucket, name):
        if self.query.get("alt") == "media":
            return self.read(bucket, name)
        self.permit(bucket, "read")
        answer = self.metadata(bucket, name)
        self.store.add_request("metadata", name)
        return self.answer(200, answer)

    def read(self, bucket, name):
        self.permit(bucket, "read")
        content = self.find(bucket, name).read_bytes()
        self.store.add_request("read", name)
        requested = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if not requested:
            return self.answer(200, content)
        first = int(requested[1])
        if first >= len(content):
            return self.answer(416, b"", {"Content-Range": f"bytes */{len(content)}"})
        part = content[first : int(requested[2]) + 1 if requested[2] else None]
        return self.answer(206, part, {"Content-Range": f"bytes {first}-{first + len(part) - 1}/{len(content)}"})

    def remove(self, bucket, name):
        self.permit(bucket, "write")
        self.find(bucket, name).unlink()
        self.store.add_request("remove", name)
        self.answer(204)

    def copy(self, bucket, name, to_bucket, to_name):
        self.receive()
        self.permit(bucket, "read")
        self.permit(to_bucket, "write")
        content = self.find(bucket, name).read_bytes()
        self.wait_while_held(to_name)
        self.store.write(to_bucket, to_name, content)
        self.store.add_request("copy", to_name)
        self.answer(200, {"kind": "storage#rewriteResponse", "done": True, "objectSize": str(len(content)),
                          "totalBytesRewritten": str(len(content)), "resource": self.metadata(to_bucket, to_name)})

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
        if self.query.get("ifGenerationMatch") == "0" and self.store.path(bucket, name).exists():
            raise RefusalError(412, "At least one of the pre-conditions you specified did not hold.")
        self.store.write(bucket, name, content)
        self.store.add_request("upload", name)
        return self.answer(200, self.metadata(bucket, name))

    def upload(self, bucket):
        self.permit(bucket, "write")
        upload = self.server.uploads.get(self.query["upload_id"])
        if upload is None:
            raise RefusalError(404, "No such upload.")
        span = re.fullmatch(r"bytes (?:(\d+)-\d+|\*)/(\d+)", self.headers.get("Content-Range", ""))
        if span and span[1] is None:  # It asks how many bytes were received.
            self.receive()
            self.store.add_request("status", upload.name)
        else:
            self.continue_upload(upload, int(span[1]) if span else 0)
        if not upload.is_complete and len(upload.content) == (int(span[2]) if span else len(upload.content)):
            self.store.write(bucket, upload.name, upload.content)
            self.store.add_request("upload", upload.name)
            upload.is_complete = True
        if upload.is_complete:
            return self.answer(200, self.metadata(bucket, upload.name))
        received = {"Range": f"bytes=0-{len(upload.content) - 1}"} if upload.content else {}
        return self.answer(308, b"", received)

    def continue_upload(self, upload, first):
        """Receives the bytes of an upload, starting at byte `first`."""
        if first > len(upload.content):
            raise RefusalError(400, f"Byte {len(upload.content)} is the next.")
        self.wait_while_held(upload.name)
        upload.content = upload.content[:first] + self.receive()

    def wait_while_held(self, name):
        """If writes to this name are held, waits until they are not, and then drops the connection."""
        hold = self.store.orders.hold
        if hold and re.search(hold, name):
            self.store.add_request("held", name)
            while self.store.orders.hold == hold:
                time.sleep(POLL_SECONDS)
            raise ConnectionAbortedError

    # Parts of requests and answers.

    def receive(self):
        """Returns the body of the request."""
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
        """Returns the path of an object, which must exist."""
        path = self.store.path(bucket, name)
        if not path.exists():
            raise RefusalError(404, f"No such object: {bucket}/{name}")
        return path

    def metadata(self, bucket, name):
        status = self.find(bucket, name).stat()
        seconds, nanoseconds = divmod(status.st_mtime_ns, 10**9)
        when = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{nanoseconds // 10**6:03d}Z"
        return {"kind": "storage#object", "bucket": bucket, "name": name, "size": str(status.st_size),
                "generation": str(status.st_mtime_ns), "timeCreated": when, "updated": when}

    def answer(self, status, content=b"", headers=None):
        """Sends an answer; content: bytes, or values for JSON."""
        headers = dict(headers or {})
        if not isinstance(content, bytes):
            content = json.dumps(content, indent=2).encode()
            headers["Content-Type"] = "application/json; charset=UTF-8"
        self.send_response(status)
        for key, value in {**headers, "Content-Length": len(content)}.items():
            self.send_header(key, str(value))
        self.end_headers()
        self.wfile.write(content)
