"""PlainTokenizer: the original's ids, and BertTokenizer's spans, one text at a time and without TensorFlow."""

import pathlib

import numpy as np
import pytest

from bert_tf.tokenization import BertTokenizer, read_vocabulary
from bert_tf.tokenization.plain_tokenizer import PlainTokenizer

TEXT = pathlib.Path(__file__).parents[2] / "reference" / "text"
VOCABULARY = str(TEXT / "vocab.txt")
LINES = (TEXT / "lines.txt").read_bytes().split(b"\n")[:-1]
ODD_LINES = ["a\u0301\u0323bc", "x\x00y\ufffdz", "ΟΔΥΣΣΕΥΣ. ΑΣ'Σ", "İstanbul", "한국어", "é" * 200, "e\u0301" * 201,
             "中文a\u302e\u302f", "\U0001d15e\U0001d165b", "\u200b",
             "[MASK] ##a", "\u2028a\u3000b", "a\u302f\u302e\u0301"]


def texts():
    return [line.decode("utf-8", "ignore") for line in LINES] + ODD_LINES


@pytest.mark.parametrize(("name", "lower_case"), [("uncased", True), ("cased", False)])
def test_ids_of_hard_lines_are_the_originals(name, lower_case):
    tokenizer = PlainTokenizer(read_vocabulary(VOCABULARY), lower_case)
    with np.load(TEXT / f"ids_{name}.npz") as arrays:
        expected = [part.tolist() for part in np.split(arrays["values"], arrays["row_splits"][1:-1])]
    assert [tokenizer.ids(text) for text in texts()[: len(LINES)]] == expected


@pytest.mark.parametrize(("lower_case", "strip_accents"), [(True, None), (False, None), (True, False), (False, True)])
def test_ids_and_spans_are_the_graphs(lower_case, strip_accents):
    plain = PlainTokenizer(read_vocabulary(VOCABULARY), lower_case, strip_accents)
    graph = BertTokenizer(VOCABULARY, lower_case, strip_accents).tokenize_with_offsets(texts())
    expected = zip(graph.ids.to_list(), graph.char_starts.to_list(), graph.char_ends.to_list(), strict=True)
    for text, (ids, starts, ends) in zip(texts(), expected, strict=True):
        assert plain.ids(text) == ids, text
        assert plain.ids_and_spans(text) == (ids, starts, ends), text


def test_special_pieces():
    tokenizer = PlainTokenizer(["[PAD]", "a", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "##b"])
    assert [getattr(tokenizer, f"{name}_id") for name in ("pad", "unk", "cls", "sep", "mask")] == [0, 2, 3, 4, 5]
    assert tokenizer.ids("aB x") == [1, 6, 2]
    assert tokenizer.ids_and_spans(" aB  x") == ([1, 6, 2], [1, 2, 5], [2, 3, 6])
