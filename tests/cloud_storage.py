"""Cloud Storage for tests: scripts see gs://BUCKET, and a thread answers their requests.

TensorFlow's client uses the server as its HTTPS proxy. The server does not forward requests: it
answers them itself, with a certificate that the client trusts because of an environment variable.
The server implements the part of the JSON API that the client uses
(https://cloud.google.com/storage/docs/json_api): metadata, lists with prefix, delimiter, and pages,
ranged reads, uploads, copies, and deletion. An object appears when its upload is complete.
"""

import contextlib
import dataclasses
import functools
import http.server
import json
import pathlib
import re
import shutil
import ssl
import subprocess
import sys
import threading
import time
import urllib.parse

import pytest

API = "www.googleapis.com"
READS = "storage.googleapis.com"  # The host of reads: https://READS/BUCKET/OBJECT
TOKEN = "a-token-of-the-tests"  # The client must send it.
PAGE = 5  # Maximum number of entries in an answer to a list request. Google's is 1000.
POLL_SECONDS = 0.01


@dataclasses.dataclass(frozen=True)
class Route:
    """Requests that a function of the handler answers.

    Attributes:
      host: str. Host of the requests.
      method: str. Method of HTTP.
      path: str. {bucket} and {name} are percent-encoded parts of the path.
      function: str. Name of the function.
    """

    host: str
    method: str
    path: str
    function: str

    @property
    def pattern(self):
        """Regular expression of the path, with its parts as groups."""
        return re.compile(re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", self.path))


ROUTES = [
    Route(host=API, method="GET", path="/storage/v1/b/{bucket}/o", function="list_objects"),
    Route(
        host=API, method="GET", path="/storage/v1/b/{bucket}/o/{name}", function="describe_object"
    ),
    Route(host=API, method="DELETE", path="/storage/v1/b/{bucket}/o/{name}", function="remove"),
    Route(
        host=API,
        method="POST",
        path="/storage/v1/b/{bucket}/o/{name}/rewriteTo/b/{to_bucket}/o/{to_name}",
        function="copy",
    ),
    Route(host=API, method="POST", path="/upload/storage/v1/b/{bucket}/o", function="begin_upload"),
    Route(host=API, method="PUT", path="/upload/storage/v1/b/{bucket}/o", function="upload"),
    Route(host=READS, method="GET", path="/(?P<bucket>[^/]+)/(?P<name>.+)", function="read"),
]


class ErrorAnswer(Exception):  # noqa: N818 (not an error of the tests)
    """An error answer: HTTP status and message."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


@dataclasses.dataclass(frozen=True)
class StoredObject:
    """The content of an object, and the time of its upload."""

    content: bytes
    nanoseconds: int = dataclasses.field(default_factory=time.time_ns)


class CloudStorage:
    """Buckets, which scripts that tests.scripts starts in a `with` block see as gs://BUCKET.

    Args:
      folder: pathlib.Path of a directory for the certificate.
      forbidden: Dict of bucket to a set of forbidden actions: "read", "write", "list".

    Attributes:
      requests: List of the answered requests: pairs of a kind and the name of an object.
    """

    def __init__(self, folder, forbidden):
        self.buckets = {bucket: {} for bucket in forbidden}
        self.forbidden = forbidden
        self.requests = []
        self.held_names = None
        self._certificate = folder / "certificate.pem"
        self._resources = contextlib.ExitStack()

    def __enter__(self):
        tls = make_certificate(self._certificate)
        handler = functools.partial(_Handler, self, tls)
        server = self._resources.enter_context(_Server(("127.0.0.1", 0), handler))
        threading.Thread(target=server.serve_forever, args=(POLL_SECONDS,), daemon=True).start()
        self._resources.callback(server.shutdown)
        patch = self._resources.enter_context(pytest.MonkeyPatch.context())
        for name, value in {
            "https_proxy": f"http://127.0.0.1:{server.server_port}",
            "NO_GCE_CHECK": "true",
            "CURL_CA_BUNDLE": str(self._certificate),
            "GOOGLE_AUTH_TOKEN_FOR_TESTING": TOKEN,
            "CLOUDSDK_CONFIG": str(self._certificate.parent / "no_configuration"),
        }.items():
            patch.setenv(name, value)
        for name in ("no_proxy", "NO_PROXY", "GOOGLE_APPLICATION_CREDENTIALS"):
            patch.delenv(name, raising=False)
        return self

    def __exit__(self, *_):
        self._resources.close()

    @contextlib.contextmanager
    def hold(self, names):
        """A context in which writes of objects wait if their names match a regular expression.

        They fail at its end.
        """
        self.held_names = names
        try:
            yield
        finally:
            self.held_names = None

    def put(self, path, content):
        """Creates the object gs://... from bytes or str."""
        bucket, name = _split(path)
        self.buckets[bucket][name] = StoredObject(
            content if isinstance(content, bytes) else content.encode()
        )

    def get(self, path):
        """Returns the bytes of the object gs://..."""
        bucket, name = _split(path)
        return self.buckets[bucket][name].content

    def names(self, path):
        """Returns the sorted relative names of the objects below gs://...

        The markers of directories are omitted.
        """
        bucket, folder = _split(path)
        return [
            name.removeprefix(f"{folder}/")
            for name in sorted(self.buckets[bucket])
            if name.startswith(f"{folder}/") and not name.endswith("/")
        ]

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


def _split(path):
    """Returns the bucket and the object's name in a path gs://..."""
    bucket, _, name = path.removeprefix("gs://").partition("/")
    return bucket, name


def make_certificate(path):
    """Creates a self-signed certificate for the hosts; returns an ssl.SSLContext with it."""
    if not shutil.which("openssl"):
        pytest.skip("the program openssl is missing")
    key = path.with_suffix(".key")
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=tests",
            "-addext",
            f"subjectAltName=DNS:{API},DNS:{READS}",
            "-keyout",
            key,
            "-out",
            path,
        ],
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path, key)
    return context


class _Server(http.server.ThreadingHTTPServer):
    request_queue_size = 64

    def handle_error(self, request, client_address):
        if not isinstance(sys.exception(), ConnectionError | ssl.SSLError):  # Clients are killed.
            super().handle_error(request, client_address)


class _Handler(http.server.BaseHTTPRequestHandler):
    """A connection of a client: a CONNECT to a host, and then requests to this host."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    host = None

    def __init__(self, cloud, tls, *arguments):
        self.cloud = cloud
        self.tls = tls
        super().__init__(*arguments)

    def log_message(self, *_):
        """Prints nothing: the cloud has a list of requests."""

    def do_CONNECT(self):
        self.host = self.path.partition(":")[0]
        self.send_response_only(200)
        self.end_headers()
        self.request = self.tls.wrap_socket(self.request, server_side=True)
        self.setup()
        self.close_connection = False

    def finish(self):
        super().finish()
        self.request.close()

    def answer_request(self):
        try:
            self.dispatch()
        except ErrorAnswer as error:
            self.close_connection = True  # The body of the request may not have been read.
            self.answer(
                error.status,
                {
                    "error": {
                        "code": error.status,
                        "message": str(error),
                        "errors": [{"message": str(error), "domain": "global"}],
                    }
                },
            )

    # http.server calls these names.
    do_GET = do_POST = do_PUT = do_DELETE = answer_request  # noqa: N815

    def dispatch(self):
        url = urllib.parse.urlsplit(self.path)
        self.query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        for route in ROUTES:
            match = route.pattern.fullmatch(url.path)
            if match and (route.host, route.method) == (self.host, self.command):
                return getattr(self, route.function)(
                    **{key: urllib.parse.unquote(part) for key, part in match.groupdict().items()}
                )
        raise ErrorAnswer(400, f"{self.command} {self.path} is not served")

    def permit(self, bucket, action):
        """Returns the objects of a bucket; rejects forbidden actions and missing buckets."""
        authorization = self.headers.get("Authorization")
        if authorization != f"Bearer {TOKEN}":
            raise ErrorAnswer(
                401,
                "Invalid Credentials"
                if authorization
                else f"Anonymous caller does not have storage.objects.{action} access to {bucket}.",
            )
        if bucket not in self.cloud.buckets:
            raise ErrorAnswer(404, "The specified bucket does not exist.")
        if action in self.cloud.forbidden[bucket]:
            raise ErrorAnswer(
                403,
                f"tester@example.com does not have storage.objects.{action} access to the bucket "
                f"{bucket}.\nPermission denied on resource (or it may not exist).",
            )
        return self.cloud.buckets[bucket]

    def find(self, bucket, name, action="read"):
        """Returns the StoredObject, which must exist."""
        try:
            return self.permit(bucket, action)[name]
        except KeyError:
            raise ErrorAnswer(404, f"No such object: {bucket}/{name}") from None

    def list_objects(self, bucket):
        names = sorted(self.permit(bucket, "list"))
        prefix = self.query.get("prefix", "")
        delimiter = self.query.get("delimiter")
        entries = {}  # Name, or the part of names up to the delimiter -> whether it is such a part.
        for name in names:
            if name.startswith(prefix):
                start, found, _ = (
                    name[len(prefix) :].partition(delimiter) if delimiter else (name, "", "")
                )
                entries[prefix + start + found if found else name] = bool(found)
        remaining = sorted(each for each in entries if each > self.query.get("pageToken", ""))
        page = remaining[: min(PAGE, int(self.query.get("maxResults", PAGE)))]
        answer = {
            "kind": "storage#objects",
            "items": [self.metadata(bucket, each) for each in page if not entries[each]],
            "prefixes": [each for each in page if entries[each]],
            "nextPageToken": page[-1] if len(page) < len(remaining) else None,
        }
        self.cloud.requests.append(("list", prefix))
        self.answer(200, {key: value for key, value in answer.items() if value})

    def describe_object(self, bucket, name):
        metadata = self.metadata(bucket, name)
        self.cloud.requests.append(("metadata", name))
        self.answer(200, metadata)

    def read(self, bucket, name):
        content = self.find(bucket, name).content
        self.cloud.requests.append(("read", name))
        requested = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if not requested:
            return self.answer(200, content)
        first = int(requested[1])
        if first >= len(content):
            return self.answer(416, b"", {"Content-Range": f"bytes */{len(content)}"})
        part = content[first : int(requested[2]) + 1 if requested[2] else None]
        return self.answer(
            206, part, {"Content-Range": f"bytes {first}-{first + len(part) - 1}/{len(content)}"}
        )

    def remove(self, bucket, name):
        self.find(bucket, name, "write")
        self.cloud.buckets[bucket].pop(name, None)
        self.cloud.requests.append(("remove", name))
        self.answer(204)

    def copy(self, bucket, name, to_bucket, to_name):
        self.receive()
        content = self.find(bucket, name).content
        self.write("copy", to_bucket, to_name, content)
        self.answer(
            200,
            {
                "kind": "storage#rewriteResponse",
                "done": True,
                "objectSize": str(len(content)),
                "totalBytesRewritten": str(len(content)),
                "resource": self.metadata(to_bucket, to_name),
            },
        )

    def begin_upload(self, bucket):
        """Receives an object, or begins an upload.

        The next request of the client has the content of the upload.
        """
        content = self.receive()
        name = self.query["name"]
        objects = self.permit(bucket, "write")
        if self.query["uploadType"] == "resumable":
            query = urllib.parse.urlencode({"uploadType": "resumable", "name": name})
            return self.answer(
                200,
                b"",
                {"Location": f"https://{API}{urllib.parse.urlsplit(self.path).path}?{query}"},
            )
        if self.query.get("ifGenerationMatch") == "0" and name in objects:
            raise ErrorAnswer(412, "At least one of the pre-conditions you specified did not hold.")
        self.write("upload", bucket, name, content)
        return self.answer(200, self.metadata(bucket, name))

    def upload(self, bucket):
        """Receives the content of an upload, which the client sends in one request."""
        content = self.receive()
        name = self.query["name"]
        span = self.headers.get("Content-Range", "")
        if span and span != f"bytes 0-{len(content) - 1}/{len(content)}":
            raise ErrorAnswer(400, f"{span}: only complete objects are accepted")
        self.write("upload", bucket, name, content)
        self.answer(200, self.metadata(bucket, name))

    def write(self, kind, bucket, name, content):
        """Writes an object.

        If its name is held, waits until it is released, and then drops the connection.
        """
        objects = self.permit(bucket, "write")
        held = self.cloud.held_names
        if held and re.search(held, name):
            self.cloud.requests.append(("held", name))
            while self.cloud.held_names == held:
                time.sleep(POLL_SECONDS)
            raise ConnectionAbortedError
        objects[name] = StoredObject(content)
        self.cloud.requests.append((kind, name))

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

    def metadata(self, bucket, name):
        found = self.find(bucket, name)
        seconds, nanoseconds = divmod(found.nanoseconds, 10**9)
        date = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
        when = f"{date}.{nanoseconds // 10**6:03d}Z"
        return {
            "kind": "storage#object",
            "bucket": bucket,
            "name": name,
            "size": str(len(found.content)),
            "generation": str(found.nanoseconds),
            "timeCreated": when,
            "updated": when,
        }

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
