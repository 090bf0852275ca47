"""Vocabulary files, and the casing that checkpoint names imply."""

import pytest

from bert_tf.errors import InputError
from bert_tf.tokenization import BertTokenizer, check_casing
from bert_tf.tokenization.vocabulary import read_vocabulary

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def write(tmp_path, content):
    path = tmp_path / "vocab.txt"
    path.write_bytes(content if isinstance(content, bytes) else "\n".join(content).encode())
    return str(path)


def test_lines_without_surrounding_white_space(tmp_path):
    path = write(tmp_path, b"[PAD]\r\n[UNK]\n [CLS]\t\n[SEP]\n[MASK]\n\xe3\x80\x80\n#\n##\n\xe2\x80\xa8\n")
    # Two lines consist of a Unicode space, which no text contains after cleaning.
    assert read_vocabulary(path) == [*SPECIALS, "\u3000", "#", "##", "\u2028"]


@pytest.mark.parametrize(("content", "message"), [
    (b"", r"vocab\.txt: is empty"),
    (["[PAD]", "[UNK]", "[CLS]", "a"], r"vocab\.txt: has no line \[SEP\], \[MASK\] among its 4"),
    ([*SPECIALS, "a", "b", "a"], r"vocab\.txt, line 8: 'a' is already on line 6"),
    ([*SPECIALS, "a", "", "b"], r"vocab\.txt, line 7: is blank"),
    ([*SPECIALS, "a", "\n"], r"vocab\.txt, line 7: is blank"),
    ("\n".join([*SPECIALS, "é"]).encode("latin-1"), r"vocab\.txt, line 6: byte 1 is 0xe9, which is not UTF-8"),
    ("\n".join(SPECIALS).encode("utf-16"), r"vocab\.txt, line 1: byte 1 is 0xff, which is not UTF-8"),
    ("\n".join(SPECIALS).encode("utf-8-sig"), r"vocab\.txt, line 1: begins with a byte-order mark"),
    ([*SPECIALS, "a" * 257], r"vocab\.txt, line 6: the token has 257 bytes; the maximum is 256"),
])
def test_rejected_vocabularies(tmp_path, content, message):
    with pytest.raises(ValueError, match=message):
        BertTokenizer(write(tmp_path, content))


def test_a_vocabulary_of_special_tokens(tmp_path):
    tokenizer = BertTokenizer(write(tmp_path, SPECIALS))
    assert tokenizer.tokenize(["a word!", ""]).to_list() == [[1, 1, 1], []]


@pytest.mark.parametrize("odd", ["a b", "a\u00ad", "\x01", "a\u2003b", "\ufffd", "\U000e0020", "##\u0085x", "ab\x07"])
def test_tokens_that_cleaned_text_never_contains(tmp_path, odd):
    path = write(tmp_path, [*SPECIALS, "a", "b", "##b", "##x", odd])
    tokenizer = BertTokenizer(path)
    assert tokenizer.vocabulary[9] == odd
    assert tokenizer.tokenize(["a b", "a\u00ad", odd, "a" + odd, "a\u2003b", "\U00011f4f"]).to_list().count([9]) == 0
    assert tokenizer.tokenize(["a b ab"]).to_list() == [[5, 6, 5, 7]]


@pytest.mark.parametrize(("lower_case", "checkpoint"), [
    (True, "models/uncased_L-12_H-768_A-12/bert_model.ckpt"),
    (True, "models/multilingual_L-12_H-768_A-12/bert_model.ckpt"),
    (True, "chinese_L-12_H-768_A-12"),
    (False, "gs://bert_models/cased_L-24_H-1024_A-16/bert_model.ckpt"),
    (False, "multi_cased_L-12_H-768_A-12/bert_model.ckpt"),
    (False, "uncased_experiments/bert_model.ckpt"),
    (True, "out/cased/model.ckpt-20"),
    (False, "uncased_L-12_H-768_A-12/more/bert_model.ckpt"),  # Only the file and its own directory count.
    (True, ""),
    (False, None),
])
def test_accepted_casing(lower_case, checkpoint):
    check_casing(lower_case, checkpoint)


@pytest.mark.parametrize(("lower_case", "checkpoint"), [
    (False, "models/uncased_L-12_H-768_A-12/bert_model.ckpt"),
    (False, "models/wwm_uncased_L-24_H-1024_A-16"),
    (False, "chinese_L-12_H-768_A-12/bert_model.ckpt"),
    (True, "cased_L-12_H-768_A-12/bert_model.ckpt"),
    (True, "multi_cased_L-12_H-768_A-12/bert_model.ckpt"),
])
def test_rejected_casing(lower_case, checkpoint):
    with pytest.raises(InputError, match=rf"`do_lower_case`={lower_case} conflicts with `init_checkpoint`=.*"
                                         rf"{checkpoint}: .* set `do_lower_case`={not lower_case}"):
        check_casing(lower_case, checkpoint)
