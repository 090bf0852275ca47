"""BertTokenizer: the original's ids, packing, offsets, and every way of running."""

import pathlib
import pickle
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
import tokenizers
import tokenizers.models
import tokenizers.normalizers
import tokenizers.pre_tokenizers

from bert_tf.tokenization.tokenizer import UNICODE_VERSION, BertTokenizer

TEXT = pathlib.Path(__file__).parents[2] / "reference" / "text"
LINES = (TEXT / "lines.txt").read_bytes().split(b"\n")[:-1]

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "un", "##aff", "##able", "cafe", "##s", "!", "中", "a",
          "##a", "[", "]", "mask", "σας", "##σ", "ᄒ", "##ᅡᆫ", "\u1b4e", "##\u1b4eb", "文"]
PAD, UNK, CLS, SEP, MASK = range(5)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    path = tmp_path_factory.mktemp("toy") / "vocab.txt"
    path.write_text("\n".join(PIECES) + "\n", encoding="utf-8", newline="\n")
    return BertTokenizer(str(path))


@pytest.fixture(scope="module")
def uncased():
    return BertTokenizer(str(TEXT / "vocab.txt"), lower_case=True)


def pieces(tokenizer, text):
    return [piece.decode() for piece in tokenizer.convert_ids_to_tokens(tokenizer.tokenize([text]))[0].numpy()]


def expected_ids(name):
    with np.load(TEXT / f"ids_{name}.npz") as arrays:
        return tf.RaggedTensor.from_row_splits(arrays["values"], arrays["row_splits"]).to_list()


@pytest.mark.parametrize(("name", "lower_case"), [("uncased", True), ("cased", False)])
def test_ids_of_hard_lines_are_the_originals(name, lower_case):
    tokenizer = BertTokenizer(str(TEXT / "vocab.txt"), lower_case)
    expected = expected_ids(name)
    assert tokenizer.tokenize(LINES).to_list() == expected
    assert tokenizer.tokenize_with_offsets(LINES).ids.to_list() == expected


@pytest.mark.parametrize(("lower_case", "strip_accents"), [(True, False), (False, True)])
def test_casing_and_accents_apart_are_those_of_hugging_faces_tokenizers(lower_case, strip_accents):
    ours = BertTokenizer(str(TEXT / "vocab.txt"), lower_case, strip_accents)
    theirs = tokenizers.Tokenizer(tokenizers.models.WordPiece(
        {piece: id_ for id_, piece in enumerate(ours.vocabulary)}, unk_token="[UNK]", max_input_chars_per_word=200))
    theirs.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=lower_case, strip_accents=strip_accents)
    theirs.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    text = "Übermäßige GRÖSSE: Ångström, façade ÉTÉ ΟΔΟΣ İstanbul naïve Größe; Ça alors! Zażółć gęślą jaźń. Ёлка ЙОД"
    # Assigned letters with canonical decompositions, upper and lower, of the blocks that both libraries know alike.
    letters = [" ".join(chr(code) for code in range(first, first + 64) if chr(code).isalpha())
               for first in range(0xC0, 0x600, 64)]
    for line in (text, *letters):
        assert ours.tokenize([line]).to_list()[0] == theirs.encode(line, add_special_tokens=False).ids, line


def test_accents_that_stay_in_lower_case(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_text("\n".join([*PIECES[:5], "größe", "grosse", "groß", "σας", "σασ", "i\u0307"]), encoding="utf-8")
    tokenizer = BertTokenizer(str(path), strip_accents=False)
    assert (tokenizer.lower_case, tokenizer.strip_accents) == (True, False)
    assert pieces(tokenizer, "GRÖẞE Größe ΣΑΣ İ") == ["größe", "größe", "σασ", "i\u0307"]
    assert pieces(pickle.loads(pickle.dumps(tokenizer)), "Größe") == ["größe"]
    assert pieces(BertTokenizer(str(path)), "Größe ΣΑΣ") == ["[UNK]", "σας"]
    assert pieces(BertTokenizer(str(path), lower_case=False, strip_accents=True), "größe σας Σας") == [
        "[UNK]", "σας", "[UNK]"]


def test_attributes(tokenizer):
    assert (tokenizer.pad_id, tokenizer.unk_id, tokenizer.cls_id, tokenizer.sep_id, tokenizer.mask_id) == (
        PAD, UNK, CLS, SEP, MASK)
    assert tokenizer.vocabulary == PIECES
    assert tokenizer.vocab_size == len(PIECES)
    assert tokenizer.lower_case is tokenizer.strip_accents is True
    assert UNICODE_VERSION == "14.0.0"  # Python 3.11's


@pytest.mark.parametrize(("text", "expected"), [
    ("", []),
    ("  \t\n\0\ufffd", []),
    ("Unaffable the!", ["un", "##aff", "##able", "the", "!"]),
    ("unaffablex", ["[UNK]"]),
    ("the中the", ["the", "中", "the"]),
    ("CAFÉ cafe\u0301s", ["cafe", "cafe", "##s"]),
    ("t\u200bh\0e", ["the"]),
    ("[MASK]", ["[", "mask", "]"]),
    ("ΣΑΣ", ["σας"]),
    ("ΣΑΣ! the", ["σας", "!", "the"]),
    ("ΣΑΣ.a", ["[UNK]", "[UNK]", "a"]),  # lower() looks past the full stop and sees a letter: σασ
    ("한", ["ᄒ", "##ᅡᆫ"]),
    ("a\u1b4eb", ["a", "##\u1b4eb"]),  # punctuation since Unicode 16, unassigned in Python 3.11
    ("the\u2028the", ["the", "the"]),
])
def test_pieces(tokenizer, text, expected):
    assert pieces(tokenizer, text) == expected


@pytest.mark.parametrize(("letter", "size"), [("a", 1), ("é", 2), ("한", 3), ("𐀀", 4)])
def test_a_word_of_200_characters_is_split_and_one_of_201_is_unknown(letter, size, tmp_path):
    vocab_file = tmp_path / "vocab.txt"
    vocab_file.write_text("\n".join([*PIECES[:5], letter, "##" + letter]), encoding="utf-8")
    assert len(letter.encode()) == size
    tokenizer = BertTokenizer(str(vocab_file), lower_case=False)
    words = [letter * 200, letter * 201, f"{letter} {letter * 201} {letter}!", letter * 1000]
    assert tokenizer.tokenize(words).to_list() == [
        [5] + [6] * 199, [tokenizer.unk_id], [5, tokenizer.unk_id, 5, tokenizer.unk_id], [tokenizer.unk_id]]
    starts, ends = (rows.to_list() for rows in tokenizer.tokenize_with_offsets(words)[3:])
    assert (starts[2], ends[2]) == ([0, 2, 204, 205], [1, 203, 205, 206])


def test_lines_that_need_care_leave_the_others_alone(uncased):
    hard = ["x" * 201, "\U0001d165\u1b44", "ΑΣ"]
    easy = ["one", "", "two three", "four!"]
    together = uncased.tokenize([easy[0], hard[0], easy[1], hard[1], easy[2], hard[2], easy[3]]).to_list()
    assert together[::2] == uncased.tokenize(easy).to_list()
    assert together[1::2] == uncased.tokenize(hard).to_list()


def test_offsets_point_into_the_text(tokenizer):
    text = "  Cafe\u0301s中, 한!"
    result = tokenizer.tokenize_with_offsets([text])
    spans = zip(result.char_starts[0].numpy(), result.char_ends[0].numpy(), strict=True)
    # The accent belongs to the piece before it; both pieces of a syllable have the syllable's span.
    assert [text[start:end] for start, end in spans] == ["Cafe\u0301", "s", "中", ",", "한", "한", "!"]
    content = text.encode()
    spans = zip(result.byte_starts[0].numpy(), result.byte_ends[0].numpy(), strict=True)
    assert [content[start:end].decode() for start, end in spans] == ["Cafe\u0301", "s", "中", ",", "한", "한", "!"]
    assert all(rows.dtype == tf.int32 for rows in result)


def test_bytes_that_are_not_utf8_are_dropped(tokenizer):
    text = b"\xffthe\xe4\xb8 \xf0\x9f\x98caf\x80\xc3\xa9 \xed\xa0\x80the\xc3"
    assert tokenizer.tokenize([text]).to_list() == tokenizer.tokenize([text.decode("utf-8", "ignore")]).to_list()
    result = tokenizer.tokenize_with_offsets([text])
    assert result.char_starts.to_list() == [[0, 4, 9]]
    assert result.char_ends.to_list() == [[3, 8, 12]]
    assert result.byte_starts.to_list() == [[1, 10, 20]]
    assert result.byte_ends.to_list() == [[6, 16, 24]]


def truncated(count_a, count_b, room):
    """The original's `_truncate_seq_pair`, on lengths."""
    while count_a + count_b > room:
        if count_a > count_b:
            count_a -= 1
        else:
            count_b -= 1
    return count_a, count_b


@pytest.mark.parametrize("max_seq_length", [3, 4, 7, 8, 17])
def test_pairs_are_cut_as_by_the_original(tokenizer, max_seq_length):
    counts = [(a, b) for a in range(9) for b in range(9)]
    features = tokenizer.encode(["a " * a for a, _ in counts], ["the " * b for _, b in counts], max_seq_length)
    for row, (count_a, count_b) in enumerate(counts):
        kept_a, kept_b = min(count_a, max_seq_length - 2), 0  # the original takes an empty second text for none
        if count_b:
            kept_a, kept_b = truncated(count_a, count_b, max_seq_length - 3)
        second = [*kept_b * [PIECES.index("the")], SEP] if kept_b else []
        ids = [CLS, *kept_a * [PIECES.index("a")], SEP, *second]
        padding = [0] * (max_seq_length - len(ids))
        assert features["input_ids"][row].numpy().tolist() == ids + padding
        assert features["input_mask"][row].numpy().tolist() == [1] * len(ids) + padding
        assert features["segment_ids"][row].numpy().tolist() == (
            [0] * (kept_a + 2) + [1] * len(second) + padding)


def test_single_texts_are_cut_and_padded(tokenizer):
    features = tokenizer.encode(["the a !", ""], max_seq_length=4)
    assert features["input_ids"].numpy().tolist() == [[CLS, 5, 13, SEP], [CLS, SEP, PAD, PAD]]
    assert features["input_mask"].numpy().tolist() == [[1, 1, 1, 1], [1, 1, 0, 0]]
    assert not features["segment_ids"].numpy().any()
    assert all(feature.dtype == tf.int32 and feature.shape == [2, 4] for feature in features.values())


def test_room_for_the_special_pieces_only(tokenizer):
    assert tokenizer.encode(["the a"], max_seq_length=2)["input_ids"].numpy().tolist() == [[CLS, SEP]]
    assert tokenizer.encode(["the"], ["a"], max_seq_length=3)["input_ids"].numpy().tolist() == [[CLS, SEP, 0]]


def test_no_room_for_the_special_pieces(tokenizer):
    with pytest.raises(ValueError, match=r"`max_seq_length`=2: it must be at least 3"):
        tokenizer.encode(["a"], ["a"], max_seq_length=2)


@pytest.mark.parametrize("texts", ["one text", [["a"], ["b"]]])
def test_texts_must_be_a_vector(tokenizer, texts):
    with pytest.raises(ValueError, match=r"a vector of strings is needed"):
        tokenizer.tokenize(texts)


def test_decode_puts_words_together(tokenizer):
    features = tokenizer.encode(["Unaffable CAFÉS!", "the aaaa"], max_seq_length=11)
    words = [b"unaffable cafes !", b"the aaaa"]
    assert tokenizer.decode(features["input_ids"]).numpy().tolist() == words
    assert tokenizer.decode(tokenizer.tokenize(["Unaffable CAFÉS!", "the aaaa"])).numpy().tolist() == words
    assert tokenizer.decode([[PAD, PAD]]).numpy().tolist() == [b""]
    assert tokenizer.decode([[CLS, MASK, 8, 5, SEP]]).numpy().tolist() == [b"[MASK]able the"]


def test_graph_calls_give_what_eager_calls_give(uncased):
    expected = uncased.tokenize(LINES).to_list()
    batches = tf.data.Dataset.from_tensor_slices(LINES).batch(101).map(uncased.tokenize)
    assert tf.concat(list(batches), 0).to_list() == expected
    graph = tf.function(uncased.tokenize_with_offsets, input_signature=[tf.TensorSpec([None], tf.string)])
    for in_graph, eager in zip(graph(LINES), uncased.tokenize_with_offsets(LINES), strict=True):
        assert in_graph.to_list() == eager.to_list()
    assert graph(tf.zeros([0], tf.string)).char_ends.to_list() == []


def test_a_tokenizer_survives_pickling(tokenizer):
    copy = pickle.loads(pickle.dumps(tokenizer))
    assert copy.tokenize(["unaffable"]).to_list() == tokenizer.tokenize(["unaffable"]).to_list()


class Service(tf.Module):
    """What an export holds: raw text in, all that the tokenizer gives out."""

    def __init__(self, tokenizer):
        super().__init__()
        self.tokenizer = tokenizer

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def serve(self, texts):
        offsets = self.tokenizer.tokenize_with_offsets(texts)
        return {**self.tokenizer.encode(texts, max_seq_length=47), "char_starts": offsets.char_starts.to_tensor(-1),
                "byte_ends": offsets.byte_ends.to_tensor(-1), "decoded": self.tokenizer.decode(offsets.ids)}


LOADED_ALONE = """
import importlib.util, pickle, sys
sys.path.extend(PATHS)
import numpy as np, tensorflow as tf, tensorflow_text
assert importlib.util.find_spec("bert_tf") is None
lines = pickle.loads(sys.stdin.buffer.read())
outputs = tf.saved_model.load(sys.argv[1]).signatures["serving_default"](tf.constant(lines))
np.savez(sys.argv[2], **{name: np.asarray(value.numpy(), "S" if value.dtype == tf.string else None)
                         for name, value in outputs.items()})
"""


def test_a_saved_model_needs_nothing_of_ours(uncased, tmp_path):
    service = Service(uncased)
    tf.saved_model.save(service, str(tmp_path / "model"), signatures=service.serve)
    packages = [path for path in sys.path if path.endswith("site-packages")]
    # -I and -S leave out the environment, the current folder and editable installs.
    subprocess.run([sys.executable, "-I", "-S", "-c", LOADED_ALONE.replace("PATHS", repr(packages)),
                    str(tmp_path / "model"), str(tmp_path / "outputs.npz")], input=pickle.dumps(LINES), check=True)
    expected = service.serve(tf.constant(LINES))
    with np.load(tmp_path / "outputs.npz") as outputs:
        assert set(outputs) == set(expected)
        for name, value in expected.items():
            assert outputs[name].tolist() == value.numpy().tolist(), name


def test_a_second_text_without_pieces_is_packed_as_none(tokenizer):
    texts = ["the name of a module that is long enough to be cut", "the module", ""]
    alone = tokenizer.encode(texts, max_seq_length=9)
    paired = tokenizer.encode(texts, ["", " \u200b", ""], max_seq_length=9)
    for name, values in alone.items():
        np.testing.assert_array_equal(paired[name], values, err_msg=name)
    mixed = tokenizer.encode(["the module"] * 2, ["", "name"], max_seq_length=9)
    assert mixed["segment_ids"].numpy().sum(1).tolist() == [0, 2]
