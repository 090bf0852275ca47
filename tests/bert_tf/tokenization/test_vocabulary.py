"""Vocabulary files, and the casing that checkpoint names imply."""

import pytest

from bert_tf.errors import InputError
from bert_tf.tokenization import BertTokenizer
from bert_tf.tokenization.plain import PlainTokenizer
from bert_tf.tokenization.vocabulary import check_casing, describe_lines, read_vocabulary
from tests.errors import Message, raises_message

UNUSUAL = (
    "is blank or occurs again; "
    "such lines count as IDs, and the last of equal lines is used, as in the original BERT"
)
SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def write(tmp_path, content):
    path = tmp_path / "vocab.txt"
    path.write_bytes(content if isinstance(content, bytes) else "\n".join(content).encode())
    return str(path)


def test_lines_without_surrounding_white_space_or_byte_order_mark(tmp_path):
    path = write(
        tmp_path,
        b"\xef\xbb\xbf[PAD]\r\n[UNK]\n [CLS]\t\n[SEP]\n[MASK]\n\xe3\x80\x80\n#\n##\n\xe2\x80\xa8\n",
    )
    # Two lines consist of a Unicode space, which the original strips too.
    assert read_vocabulary(path) == [*SPECIALS, "", "#", "##", ""]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b"",
            Message("vocab.txt", "no line [PAD]", "[UNK], [CLS], [SEP], [MASK]", "among its 1"),
        ),
        (
            ["[PAD]", "[UNK]", "[CLS]", "a"],
            Message("vocab.txt", "has no line [SEP], [MASK]", "among its 4"),
        ),
        (
            "\n".join([*SPECIALS, "é"]).encode("latin-1"),
            Message("vocab.txt", "vocab.txt, line 6", "byte 1 is 0xe9", "not UTF-8"),
        ),
        (
            [*SPECIALS, "a" * 257],
            Message(
                "vocab.txt", "vocab.txt, line 6", "the token has 257 bytes", "the maximum is 256"
            ),
        ),
    ],
)
def test_rejected_vocabularies(tmp_path, content, message):
    with raises_message(message):
        BertTokenizer(write(tmp_path, content))


@pytest.mark.parametrize(
    ("lines", "size", "expected", "messages"),
    [
        (
            ["the", "cat", "mat", "mat", "dog", "##s", "##s"],
            12,
            [5, 8, 9, 11],
            [f"line 8 {UNUSUAL}"],
        ),
        (
            ["[SEP]", "[UNK]", "the", "cat", "mat", "dog", "##s", ""],
            12,
            [7, 9, 10, 11],
            [f"line 2 {UNUSUAL}"],
        ),
        (
            ["the", "cat", "mat", "dog", "##s"],
            10,
            [5, 7, 8, 9],
            [
                "has 10 entries, fewer than vocab_size of the model (12); "
                "the model's other IDs are unused"
            ],
        ),
    ],
)
def test_ids_of_duplicate_and_blank_lines_are_the_originals(
    tmp_path, lines, size, expected, messages
):
    tokenizer = BertTokenizer(write(tmp_path, [*SPECIALS, *lines, ""]))
    texts = ["the mat dogs", "catx"]
    unknown, separator = (6, 5) if "[UNK]" in lines else (1, 3)
    assert tokenizer.tokenize(texts).to_list() == [expected, [unknown]]
    plain = PlainTokenizer(tokenizer.vocabulary)
    assert [plain.ids(text) for text in texts] == [expected, [unknown]]
    assert (
        (tokenizer.unk_id, tokenizer.sep_id) == (plain.unk_id, plain.sep_id) == (unknown, separator)
    )
    assert tokenizer.vocab_size == size
    assert describe_lines(tokenizer.vocabulary, 12) == messages


@pytest.mark.parametrize("odd", ["a b", "a\u00ad", "\x01", "a\u2003b", "\ufffd", "##\u0085x"])
def test_tokens_that_cleaned_text_never_contains(tmp_path, odd):
    path = write(tmp_path, [*SPECIALS, "a", "b", "##b", "##x", odd])
    tokenizer = BertTokenizer(path)
    assert tokenizer.vocabulary[9] == odd
    assert (
        tokenizer.tokenize(["a b", "a\u00ad", odd, "a" + odd, "a\u2003b", "\U00011f4f"])
        .to_list()
        .count([9])
        == 0
    )
    assert tokenizer.tokenize(["a b ab"]).to_list() == [[5, 6, 5, 7]]


@pytest.mark.parametrize(
    ("checkpoint", "expected"),
    [
        ("models/uncased_L-12_H-768_A-12/bert_model.ckpt", True),
        ("chinese_L-12_H-768_A-12", True),
        ("multi_cased_L-12_H-768_A-12/bert_model.ckpt", False),
        ("out/cased/model.ckpt-20", None),
        # Only the file and its own directory count.
        ("uncased_L-12_H-768_A-12/more/bert_model.ckpt", None),
        (None, None),
    ],
)
def test_casing_of_published_models(checkpoint, expected):
    for lower_case in (True, False):
        if expected in (None, lower_case):
            check_casing(lower_case, checkpoint)
            continue
        with pytest.raises(
            InputError,
            match=rf"`do_lower_case`={lower_case}: conflicts with "
            rf"{checkpoint}: .* set `do_lower_case`={expected}",
        ):
            check_casing(lower_case, checkpoint)
