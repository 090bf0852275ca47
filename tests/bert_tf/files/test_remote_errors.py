"""Readable errors for TensorFlow's errors about remote files, with texts of its gs:// client for each response."""

import re

import pytest
import tensorflow as tf

from bert_tf import files

PATH = "gs://corpus/x"
NO_HOST = ("Error executing an HTTP request: libcurl code 6 meaning 'Could not resolve hostname', error details: Could "
           f"not resolve host: www.googleapis.com\n\t when reading metadata of {PATH}")


def http(code, message):
    body = f'{{"error": {{"code": {code}, "message": "{message}"}}}}'
    return (f"Error executing an HTTP request: HTTP response code {code} with body '{body}'\n\t when reading metadata "
            f"of {PATH}")


@pytest.mark.parametrize(("error", "message", "expected", "reason"), [
    (tf.errors.NotFoundError, http(404, "The specified bucket does not exist."), FileNotFoundError,
     "bucket corpus does not exist"),
    (tf.errors.PermissionDeniedError, http(401, "Anonymous caller does not have storage.objects.get"), PermissionError,
     "no credentials (Anonymous caller does not have storage.objects.get); run gcloud auth application-default login, "
     "or set GOOGLE_APPLICATION_CREDENTIALS to a credentials file"),
    (tf.errors.PermissionDeniedError, http(403, "me@x does not have storage.objects.get"), PermissionError,
     "no permission (me@x does not have storage.objects.get)"),
    (tf.errors.PermissionDeniedError, "HTTP response code 403 with body '<html>'", PermissionError,
     "no permission (HTTP 403)"),
    (tf.errors.UnavailableError, http(503, "try later"), OSError, "HTTP 503: try later"),
    (tf.errors.UnavailableError, NO_HOST, OSError, "Could not resolve host: www.googleapis.com"),
])
def test_reasons(monkeypatch, error, message, expected, reason):
    def fail(path):
        raise error(None, None, message)

    monkeypatch.setattr(tf.io.gfile, "stat", fail)
    place = files.at(PATH)
    for query in (place.exists, place.is_dir, place.is_file, place.size):
        with pytest.raises(expected, match=f"^{re.escape(f'{PATH}: cannot be read: {reason}')}$") as caught:
            query()
        assert isinstance(caught.value.__cause__, error)


def test_a_missing_object_is_not_an_error(monkeypatch):
    def fail(path):
        raise tf.errors.NotFoundError(None, None, f"The specified path {PATH} was not found.")

    monkeypatch.setattr(tf.io.gfile, "stat", fail)
    assert not files.at(PATH).exists()
    with pytest.raises(FileNotFoundError, match=rf"^{PATH}: does not exist$"):
        files.at(PATH).size()


@pytest.mark.parametrize(("path", "message"), [
    *((f"gs://{bucket}/x", f"{bucket!r} is not a bucket name; use only lowercase letters, digits, - _ .")
      for bucket in ("two words", "Upper", "-x")),
    ("gs:///x", "cannot be read: GCS path doesn't contain a bucket name"),
    ("none://a", "cannot be read: File system scheme 'none' not implemented"),
])
def test_invalid_buckets_and_schemes(path, message):
    with pytest.raises(OSError, match=f"^{re.escape(f'{path}: {message}')}"):
        files.at(path).exists()
