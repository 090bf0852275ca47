"""PlainTokenizer: the IDs of the original BERT, one text at a time and without TensorFlow.

test_tokenizer_on_random_text compares its IDs and spans with those of BertTokenizer.
"""

import pathlib

import numpy as np
import pytest

from bert_tf.tokenization import read_vocabulary
from bert_tf.tokenization.plain_tokenizer import PlainTokenizer

TEXT = pathlib.Path(__file__).parents[2] / "reference" / "text"


@pytest.mark.parametrize(("name", "lower_case"), [("uncased", True), ("cased", False)])
def test_ids_of_hard_lines_are_those_of_the_original_bert(name, lower_case):
    tokenizer = PlainTokenizer(read_vocabulary(str(TEXT / "vocab.txt")), lower_case)
    with np.load(TEXT / f"ids_{name}.npz") as arrays:
        expected = [part.tolist() for part in np.split(arrays["values"], arrays["row_splits"][1:-1])]
    lines = (TEXT / "lines.txt").read_bytes().split(b"\n")[:-1]
    assert [tokenizer.ids(line.decode("utf-8", "ignore")) for line in lines] == expected


def test_special_tokens_can_have_any_id():
    tokenizer = PlainTokenizer(["[PAD]", "a", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "##b"])
    assert [getattr(tokenizer, f"{name}_id") for name in ("pad", "unk", "cls", "sep", "mask")] == [0, 2, 3, 4, 5]
    assert tokenizer.ids("aB x") == [1, 6, 2]
    assert tokenizer.ids_and_spans(" aB  x") == ([1, 6, 2], [1, 2, 5], [2, 3, 6])
