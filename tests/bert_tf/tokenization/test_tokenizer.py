"""BertTokenizer: the IDs and the rows of the original BERT, offsets, decoding, and graphs."""

import pathlib
from typing import NamedTuple

import numpy as np
import pytest
import tensorflow as tf
import tokenizers
import tokenizers.models
import tokenizers.normalizers
import tokenizers.pre_tokenizers

from bert_tf.tokenization import BertTokenizer, join_windows
from bert_tf.tokenization.plain import PlainTokenizer, join_ids
from tests.errors import Message, raises_message

TEXT = pathlib.Path(__file__).parents[2] / "reference" / "text"
LINES = (TEXT / "lines.txt").read_bytes().split(b"\n")[:-1]

PIECES = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "the",
    "un",
    "##aff",
    "##able",
    "cafe",
    "##s",
    "!",
    "中",
    "a",
    "##a",
    "[",
    "]",
    "mask",
    "σας",
    "##σ",
    "ᄒ",
    "##ᅡᆫ",
    "\u1b4e",
    "##\u1b4eb",
    "文",
]
PAD, UNK, CLS, SEP, MASK = range(5)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    path = tmp_path_factory.mktemp("toy") / "vocab.txt"
    path.write_text("\n".join(PIECES) + "\n", encoding="utf-8", newline="\n")
    return BertTokenizer(str(path))


@pytest.mark.parametrize(("name", "lower_case"), [("uncased", True), ("cased", False)])
def test_ids_of_hard_lines_are_those_of_the_original_bert(name, lower_case):
    tokenizer = BertTokenizer(str(TEXT / "vocab.txt"), lower_case)
    with np.load(TEXT / f"ids_{name}.npz") as arrays:
        expected = tf.RaggedTensor.from_row_splits(arrays["values"], arrays["row_splits"]).to_list()
    assert tokenizer.tokenize(LINES).to_list() == expected
    assert tokenizer.tokenize_with_offsets(LINES).ids.to_list() == expected
    plain = PlainTokenizer(tokenizer.vocabulary, lower_case)
    assert [plain.ids(line.decode("utf-8", "ignore")) for line in LINES] == expected


@pytest.mark.parametrize(("lower_case", "strip_accents"), [(True, False), (False, True)])
def test_separate_casing_and_accents_are_those_of_hugging_face(lower_case, strip_accents):
    ours = BertTokenizer(str(TEXT / "vocab.txt"), lower_case, strip_accents)
    theirs = tokenizers.Tokenizer(
        tokenizers.models.WordPiece(
            {piece: id_ for id_, piece in enumerate(ours.vocabulary)},
            unk_token="[UNK]",
            max_input_chars_per_word=200,
        )
    )
    theirs.normalizer = tokenizers.normalizers.BertNormalizer(
        lowercase=lower_case, strip_accents=strip_accents
    )
    theirs.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    text = (
        "Übermäßige GRÖSSE: Ångström, façade ÉTÉ ΟΔΟΣ İstanbul naïve Größe; "
        "Ça alors! Zażółć gęślą jaźń. Ёлка ЙОД"
    )
    # Letters with canonical decompositions, uppercase and lowercase, in blocks on which both
    # libraries agree.
    letters = [
        " ".join(chr(code) for code in range(first, first + 64) if chr(code).isalpha())
        for first in range(0xC0, 0x600, 64)
    ]
    for line in (text, *letters):
        assert (
            ours.tokenize([line]).to_list()[0] == theirs.encode(line, add_special_tokens=False).ids
        ), line


def test_offsets_point_into_the_text(tokenizer):
    text = "  Cafe\u0301s中, 한!"
    result = tokenizer.tokenize_with_offsets([text])
    spans = zip(result.char_starts[0].numpy(), result.char_ends[0].numpy(), strict=True)
    # An accent belongs to the token before it; both tokens of a syllable have the syllable's span.
    assert [text[start:end] for start, end in spans] == [
        "Cafe\u0301",
        "s",
        "中",
        ",",
        "한",
        "한",
        "!",
    ]
    content = text.encode()
    spans = zip(result.byte_starts[0].numpy(), result.byte_ends[0].numpy(), strict=True)
    assert [content[start:end].decode() for start, end in spans] == [
        "Cafe\u0301",
        "s",
        "中",
        ",",
        "한",
        "한",
        "!",
    ]
    assert all(rows.dtype == tf.int32 for rows in result)


def truncate(count_a, count_b, room):
    """Applies the original BERT's `_truncate_seq_pair` to two lengths."""
    while count_a + count_b > room:
        if count_a > count_b:
            count_a -= 1
        else:
            count_b -= 1
    return count_a, count_b


@pytest.mark.parametrize("max_seq_length", [3, 4, 7, 8, 17])
def test_pairs_are_truncated_as_by_the_original_bert(tokenizer, max_seq_length):
    """A second text without tokens is ignored."""
    counts = [(a, b) for a in range(9) for b in range(9)]
    features = tokenizer.encode(
        ["a " * a for a, _ in counts], ["the " * b or " \u200b" for _, b in counts], max_seq_length
    )
    for row, (count_a, count_b) in enumerate(counts):
        kept_a, kept_b = (
            truncate(count_a, count_b, max_seq_length - 3)
            if count_b
            else (min(count_a, max_seq_length - 2), 0)
        )
        second = [*kept_b * [PIECES.index("the")], SEP] if kept_b else []
        ids = [CLS, *kept_a * [PIECES.index("a")], SEP, *second]
        padding = [PAD] * (max_seq_length - len(ids))
        assert features["input_ids"][row].numpy().tolist() == ids + padding
        assert features["input_mask"][row].numpy().tolist() == [1] * len(ids) + padding
        assert features["segment_ids"][row].numpy().tolist() == (
            [0] * (kept_a + 2) + [1] * len(second) + padding
        )


def test_single_texts_are_truncated_and_padded(tokenizer):
    features = tokenizer.encode(["the a !", ""], max_seq_length=4)
    assert features["input_ids"].numpy().tolist() == [[CLS, 5, 13, SEP], [CLS, SEP, PAD, PAD]]
    assert features["input_mask"].numpy().tolist() == [[1, 1, 1, 1], [1, 1, 0, 0]]
    assert not features["segment_ids"].numpy().any()
    assert all(
        feature.dtype == tf.int32 and feature.shape == [2, 4] for feature in features.values()
    )
    assert tokenizer.encode(["the a"], max_seq_length=2)["input_ids"].numpy().tolist() == [
        [CLS, SEP]
    ]
    with pytest.raises(ValueError, match=r"`max_seq_length`=2: must be at least 3"):
        tokenizer.encode(["a"], ["a"], max_seq_length=2)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("one text", Message(None, "must be a vector of strings")),
        (["a", None], Message(None, "texts must be strings", "a list or a tensor")),
    ],
)
def test_texts_must_be_a_vector_of_strings(tokenizer, texts, message):
    with raises_message(message):
        tokenizer.tokenize(texts)


@pytest.mark.parametrize("shape", [None, [None]])
@pytest.mark.parametrize("method", ["tokenize", "tokenize_with_offsets", "encode"])
def test_graphs_check_the_rank_of_texts(tokenizer, method, shape):
    """A kernel would end the process for a scalar; concrete functions accept any shape."""

    def call(texts):
        return tf.nest.flatten(getattr(tokenizer, method)(texts), expand_composites=True)

    graph = tf.function(
        call, input_signature=[tf.TensorSpec(shape, tf.string)]
    ).get_concrete_function()
    for found, expected in zip(
        graph(tf.constant(["the a"])), call(tf.constant(["the a"])), strict=True
    ):
        np.testing.assert_array_equal(found, expected)
    for texts in ("the a", [["the a"]]):
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="is not compatible with expected shape"
        ):
            graph(tf.constant(texts))


class Windows(NamedTuple):
    """The windows of text pairs."""

    contents: list  # For each window, the number of the pair, and the tokens as one str.
    was_cut: list  # For each pair.
    segment_ids: np.ndarray


def read_windows(tokenizer, first, second, **options):
    """Returns the Windows of pairs of texts."""
    features, rows, was_cut = join_windows(
        tokenizer, tokenizer.tokenize(first), tokenizer.tokenize(second), **options
    )
    lengths = tf.reduce_sum(features["input_mask"], axis=1)
    tokens = tokenizer.convert_ids_to_tokens(
        tf.RaggedTensor.from_tensor(features["input_ids"], lengths)
    )
    texts = [
        text.decode() for text in tf.strings.reduce_join(tokens, axis=1, separator=" ").numpy()
    ]
    contents = list(zip(rows.numpy().tolist(), texts, strict=True))
    return Windows(contents, was_cut.numpy().tolist(), features["segment_ids"].numpy())


def test_windows_of_pairs(toy_tokenizer):
    """Each window contains the first text, which has half of the room if both are long."""
    first = ["a dog", "the lazy brown quick fox", "the dog in it", "the dog jump in italy of it"]
    second = ["book of london on paris", "book of london on", "", "go"]
    windows = read_windows(toy_tokenizer, first, second, max_seq_length=8, stride=2, max_windows=9)
    assert windows.contents == [
        (0, "[CLS] a dog [SEP] book of london [SEP]"),
        (0, "[CLS] a dog [SEP] london on paris [SEP]"),
        (1, "[CLS] the lazy brown [SEP] book of [SEP]"),
        (1, "[CLS] the lazy brown [SEP] london on [SEP]"),
        (2, "[CLS] the dog in it [SEP]"),
        (3, "[CLS] the dog jump in [SEP] go [SEP]"),
    ]
    assert windows.was_cut == [False, True, False, True]
    assert windows.segment_ids[:, :8].tolist()[0] == [0, 0, 0, 0, 1, 1, 1, 1]
    windows = read_windows(
        toy_tokenizer, ["a dog"], ["book of london"], max_seq_length=5, stride=1, max_windows=9
    )
    assert windows.contents == [
        (0, f"[CLS] a [SEP] {word} [SEP]") for word in ("book", "of", "london")
    ]
    assert windows.was_cut == [True]
    assert [join_ids(toy_tokenizer, [5], [6, 7], length).was_cut for length in (6, 5)] == [
        False,
        True,
    ]
