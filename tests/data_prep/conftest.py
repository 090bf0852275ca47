"""Fixtures of the tests of data preparation: files to read, and tokenizers, one per worker."""

import functools
import json

import pytest

from tests.conftest import REFERENCE

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


@pytest.fixture
def write(tmp_path):
    """Function that writes a file of `tmp_path` and returns its path, a str.

    The content is str, bytes, or a value for JSON.
    """

    def write(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not isinstance(content, str | bytes):
            content = json.dumps(content)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    return write


@pytest.fixture(scope="session")
def make_tokenizer(tmp_path_factory):
    """Function that returns the lowercasing BertTokenizer of SPECIAL_TOKENS and more tokens."""
    from bert_tf.tokenization import BertTokenizer  # Imports TensorFlow.

    @functools.cache
    def make_tokenizer(*tokens):
        path = tmp_path_factory.mktemp("tokenizer") / "vocab.txt"
        path.write_text(
            "".join(f"{token}\n" for token in (*SPECIAL_TOKENS, *tokens)), encoding="utf-8"
        )
        return BertTokenizer(str(path))

    return make_tokenizer


@pytest.fixture(scope="session")
def reference_tokenizer():
    """The BertTokenizer with which the reference numbers were computed."""
    from bert_tf.tokenization import BertTokenizer

    return BertTokenizer(str(REFERENCE / "text" / "vocab.txt"))
