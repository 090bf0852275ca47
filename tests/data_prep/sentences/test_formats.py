"""Formats of raw text: their detection, and the paragraphs of each."""

import gzip
import io
import json

import pytest

from bert_tf.files import LineDecoder
from data_prep.sentences import formats
from tests.errors import rejects

DOC = (
    '<doc id="1" url="u" title="The "X" of">\n'
    'The "X" of\n\nA &lt;b&gt; &amp;amp; c.\nThe "X" of\n\n</doc>\n'
)


def read(content, text_format):
    """Returns the documents of a text as lists of paragraphs, and the number of garbled lines."""
    decoder = LineDecoder()
    documents = [[]]
    data = content if isinstance(content, bytes) else content.encode()
    for paragraph in formats.read_paragraphs(io.BytesIO(data), text_format, "a.txt", decoder):
        if paragraph:
            documents[-1].append(paragraph)
        else:
            documents.append([])
    return [document for document in documents if document], decoder.num_garbled


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "text"),
        ("\n \n", "text"),
        ("A line.\n", "text"),
        ("<doc of something\n", "text"),
        ("<docs>\n", "text"),
        ("{A brace}\n", "text"),
        ("{" * 100_000, "text"),
        ("[1]\n", "text"),
        ("\n\n" + DOC, "doc"),
        ("\ufeff" + DOC, "doc"),
        ('{"text": "a"}\n', "json"),
        ('\ufeff \n{"id": 1, "text": ""}', "json"),
        (b"\xff\n", "text"),
        ('{"text": "' + "x" * 100_000 + '"}', "json"),
        ('{"body": "a"}', "json"),
    ],
)
@pytest.mark.parametrize("name", ["a", "a.gz"])
def test_detection(write, name, content, expected):
    data = content if isinstance(content, bytes) else content.encode()
    path = write(name, gzip.compress(data) if name.endswith(".gz") else data)
    assert formats.detect_format(path) == expected


def test_plain_text():
    text = "One.  Two.\r\n\tThree\u2028\u3000four\x85.\r\n \r\n\n\nFive\n"
    assert read(text, "text") == ([["One. Two.", "Three four ."], ["Five"]], 0)
    assert read("\ufeffOne.", "text") == ([["One."]], 0)
    assert read("One.\n\ufeffTwo.", "text") == ([["One.", "\ufeffTwo."]], 0)
    assert read(b"caf\xe9 one\n\xff\ntwo\n", "text") == ([["caf one"], ["two"]], 2)


def test_json():
    lines = [
        {"title": "T", "text": "One.\nTwo &lt;b&gt; &amp;lt;.\n\nThree."},
        {"text": ""},
        {"text": "Four.\n"},
    ]
    text = "\n\n".join(json.dumps(line) for line in lines)
    assert read(text, "json") == ([["One.", "Two <b> &lt;."], ["Three."], ["Four."]], 0)
    assert read('{"text": "a\\ud800b"}', "json") == ([["a\U0010ffffb"]], 0)


@pytest.mark.parametrize(
    "line", ["text", "[1]", '{"text": 3}', '{"text": "a"', "[" * 100_000, "1" * 5000]
)
def test_invalid_json(line):
    with rejects("a.txt", "the line from byte 14", "not a JSON object", "with a string"):
        read(f'{{"text": "a"}}\n{line}\n', "json")


def test_documents_of_wikiextractor():
    """Titles and tags are dropped, entities decoded, and a blank line does not end a document."""
    text = (
        f'{DOC}\n<doc id="2" title="Y">\nY\n\n</doc>\n<doc id="3" title="Z">\nZ is it.\n\nMore.\n'
    )
    assert read(text, "doc") == ([["A <b> &amp; c.", 'The "X" of'], ["Z is it.", "More."]], 0)
