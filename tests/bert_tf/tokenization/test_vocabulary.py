"""Vocabulary files and checkpoint names: what is refused, and in which words."""

import pytest

from bert_tf.errors import InputError
from bert_tf.tokenization import BertTokenizer, check_casing
from bert_tf.tokenization.vocabulary import read_vocabulary

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def written(tmp_path, content):
    path = tmp_path / "vocab.txt"
    path.write_bytes(content if isinstance(content, bytes) else "\n".join(content).encode())
    return str(path)


def test_the_id_is_the_line_number_and_white_space_around_is_ignored(tmp_path):
    path = written(tmp_path, b"[PAD]\r\n[UNK]\n [CLS]\t\n[SEP]\n[MASK]\n\xe3\x80\x80\n#\n##\n\xe2\x80\xa8\n")
    # Two lines have nothing but a space of another alphabet: ids that no text can have.
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
    ([*SPECIALS, "a" * 257], r"vocab\.txt, line 6: a piece of 257 bytes; 256 is the most"),
])
def test_a_faulty_vocabulary_is_refused(tmp_path, content, message):
    with pytest.raises(ValueError, match=message):
        BertTokenizer(written(tmp_path, content))


def test_special_pieces_alone_are_a_vocabulary(tmp_path):
    tokenizer = BertTokenizer(written(tmp_path, SPECIALS))
    assert tokenizer.tokenize(["a word!", ""]).to_list() == [[1, 1, 1], []]


def test_a_missing_file(tmp_path):
    with pytest.raises(OSError, match=r"No such file or directory: .*nowhere\.txt"):
        read_vocabulary(str(tmp_path / "nowhere.txt"))


@pytest.mark.parametrize("odd", ["a b", "a\u00ad", "\x01", "a\u2003b", "\ufffd", "\U000e0020", "##\u0085x", "ab\x07"])
def test_pieces_that_no_cleaned_text_has_are_never_found(tmp_path, odd):
    path = written(tmp_path, [*SPECIALS, "a", "b", "##b", "##x", odd])
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
    (True, ""),
    (False, None),
])
def test_casing_that_fits_or_that_a_name_does_not_tell(lower_case, checkpoint):
    assert check_casing(lower_case, checkpoint) is None  # nor does it raise


def test_the_name_of_a_folder_in_the_way_is_not_looked_at():
    """The checkpoint's own folder tells, and else the file's name; a folder further up does not."""
    path = "uncased_L-12_H-768_A-12/more/bert_model.ckpt"
    check_casing(False, path)
    with pytest.raises(InputError, match=f"contradicts `init_checkpoint`=.*{path.replace('more/', '')}"):
        check_casing(False, path.replace("more/", ""))


@pytest.mark.parametrize(("lower_case", "checkpoint"), [
    (False, "models/uncased_L-12_H-768_A-12/bert_model.ckpt"),
    (False, "models/wwm_uncased_L-24_H-1024_A-16"),
    (False, "chinese_L-12_H-768_A-12/bert_model.ckpt"),
    (True, "cased_L-12_H-768_A-12/bert_model.ckpt"),
    (True, "multi_cased_L-12_H-768_A-12/bert_model.ckpt"),
])
def test_casing_that_contradicts_the_name_is_refused(lower_case, checkpoint):
    with pytest.raises(ValueError, match=rf"`do_lower_case`={lower_case} contradicts .*=.*{checkpoint}: .* "
                                         rf"give `do_lower_case`={not lower_case}"):
        check_casing(lower_case, checkpoint)
