"""TensorFlow's errors in words: texts that its gs:// client gave, answered by a server with each code."""

import re

import pytest
import tensorflow as tf

from bert_tf import files
from bert_tf.files.remote import Remote


def http(code, message, doing="reading metadata of"):
    body = f'{{"error": {{"code": {code}, "message": "{message}"}}}}'
    return f"Error executing an HTTP request: HTTP response code {code} with body '{body}'\n\t when {doing} gs://b/x"


def fails_with(error):
    def call(*_, **__):
        raise error
    return call


PATH = "gs://corpus/x"
ERRORS = {
    "no bucket": (
        tf.errors.NotFoundError(None, None, http(404, "The specified bucket does not exist.")),
        FileNotFoundError, "gs://corpus/x: cannot be read: there is no bucket corpus"),
    "no credentials": (
        tf.errors.PermissionDeniedError(None, None, http(401, "Anonymous caller does not have storage.objects.get")),
        PermissionError, "gs://corpus/x: cannot be read: no credentials (Anonymous caller does not have "
        "storage.objects.get): gcloud auth application-default login makes some, or GOOGLE_APPLICATION_CREDENTIALS "
        "names a file of them"),
    "no permission": (
        tf.errors.PermissionDeniedError(None, None, http(403, "me@x does not have storage.objects.get")),
        PermissionError, "gs://corpus/x: cannot be read: no permission (me@x does not have storage.objects.get)"),
    "a server that answers no JSON": (
        tf.errors.PermissionDeniedError(None, None, "HTTP response code 403 with body '<html>'"),
        PermissionError, "gs://corpus/x: cannot be read: no permission (HTTP 403)"),
    "another code": (
        tf.errors.UnavailableError(None, None, http(503, "try later")),
        OSError, "gs://corpus/x: cannot be read: HTTP 503: try later"),
    "no network": (
        tf.errors.UnavailableError(
            None, None, "Error executing an HTTP request: libcurl code 6 meaning 'Could not resolve hostname', error "
            "details: Could not resolve host: www.googleapis.com\n\t when reading metadata of gs://corpus/x"),
        OSError, "gs://corpus/x: cannot be read: Could not resolve host: www.googleapis.com"),
    "no text": (tf.errors.DataLossError(None, None, ""), OSError, "gs://corpus/x: cannot be read: DataLossError"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors_in_words(monkeypatch, case):
    error, kind, message = ERRORS[case]
    monkeypatch.setattr(tf.io.gfile, "stat", fails_with(error))
    for ask in (files.exists, files.is_dir, files.is_file, files.size):
        with pytest.raises(kind, match=f"^{re.escape(message)}$") as caught:
            ask(PATH)
        assert caught.value.__cause__ is error


def test_an_object_that_is_not_there_is_no_error(monkeypatch):
    error = tf.errors.NotFoundError(None, None, "The specified path gs://corpus/x was not found.")
    monkeypatch.setattr(tf.io.gfile, "stat", fails_with(error))
    assert not files.exists(PATH)
    with pytest.raises(FileNotFoundError, match=r"^gs://corpus/x: no such file$"):
        files.size(PATH)


@pytest.mark.parametrize("path", ["gs://two words/x", "gs://Upper/x", "gs://-x"])
def test_no_name_of_a_bucket(path):
    with pytest.raises(OSError, match=r"^gs://.*: '.*' is no name of a bucket: lower-case letters, digits, - _ \. are"):
        files.exists(path)


def test_a_bucket_that_has_no_name_or_a_scheme_that_is_not_known():
    with pytest.raises(OSError, match=r"^gs:///x: cannot be read: GCS path doesn't contain a bucket name"):
        files.exists("gs:///x")
    with pytest.raises(OSError, match=r"^none://a: cannot be read: File system scheme 'none' not implemented"):
        files.exists("none://a")


def test_an_upload_is_one_call_of_tensorflow(monkeypatch):
    calls = []
    monkeypatch.setattr(tf.io.gfile, "copy", lambda *args, **options: calls.append((args, options)))
    Remote(PATH).upload("/tmp/file")
    assert calls == [(("/tmp/file", PATH), {"overwrite": True})]
