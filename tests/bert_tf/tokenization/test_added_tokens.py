"""Added tokens: the IDs and spans of transformers 5, in the graph and without TensorFlow."""

import json
import pathlib
import random

import pytest
import tensorflow as tf
import tokenizers
import tokenizers.models
import tokenizers.normalizers
import tokenizers.pre_tokenizers

from bert_tf.errors import InputError
from bert_tf.tokenization import AddedToken, BertTokenizer, read_added_tokens
from bert_tf.tokenization.plain import PlainTokenizer
from bert_tf.tokenization.token_files import parse_added_tokens, to_decoder
from tests.errors import Message, raises_message

REFERENCE = json.loads(
    (pathlib.Path(__file__).parents[2] / "reference/today/added_tokens.json").read_text("utf-8")
)
VOCABULARY = REFERENCE["vocabulary"]
SPECIAL = VOCABULARY[:5]
FLAGS = ("normalized", "special", "single_word", "lstrip", "rstrip")


@pytest.fixture(scope="module")
def vocab_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
    path.write_text("\n".join(VOCABULARY) + "\n", encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("case", REFERENCE["cases"], ids=lambda case: case["form"])
def test_ids_and_offsets_of_directories_are_those_of_transformers(case, tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n", encoding="utf-8")
    for name, content in case["files"].items():
        (tmp_path / name).write_text(json.dumps(content), encoding="utf-8")
    tokenizer = BertTokenizer.from_pretrained(tmp_path)
    assert tokenizer.lower_case == case["lower_case"]
    assert tokenizer.vocab_size == case["size"]
    tokens = tokenizer.tokenize_with_offsets(case["texts"])
    assert tokens.ids.to_list() == case["ids"]
    spans = zip(tokens.char_starts.to_list(), tokens.char_ends.to_list(), strict=True)
    plain = PlainTokenizer(VOCABULARY, case["lower_case"], added_tokens=tokenizer.added_tokens)
    num_added = 0
    for text, ids, offsets, (starts, ends) in zip(
        case["texts"], case["ids"], case["offsets"], spans, strict=True
    ):
        assert plain.ids(text) == ids
        assert plain.ids_and_spans(text) == (ids, starts, ends)
        for id_, offset, start, end in zip(ids, offsets, starts, ends, strict=True):
            # Other spans include the accents after a character, and these are often next to them.
            # They also include a Chinese character next to a token that includes white space: its
            # normalizer inserts spaces around the character.
            if id_ >= len(VOCABULARY) and not {*"\u0301\u200b\0中国"} & {*text}:
                assert [start, end] == offset
                num_added += 1
    assert num_added > 0


def create_peer(added_tokens, lower_case):
    peer = tokenizers.Tokenizer(
        tokenizers.models.WordPiece(
            {token: id_ for id_, token in enumerate(VOCABULARY)}, unk_token="[UNK]"
        )
    )
    peer.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=lower_case)
    peer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    for token in added_tokens:
        flags = {flag: getattr(token, flag) for flag in FLAGS}
        peer.add_tokens([tokenizers.AddedToken(token.content, **flags)])
    return peer


@pytest.mark.parametrize("seed", range(4))
def test_ids_of_random_texts_are_those_of_tokenizers(seed, vocab_file):
    generator = random.Random(seed)
    contents = ["[E1]", "[E11]", "E1", "Film", "é1", "中国", "a b", "ΔΟ", "_", "İ", "[unused1]"]
    tokens = []
    size = len(VOCABULARY)
    for content in generator.sample(contents, 6):
        id_ = VOCABULARY.index(content) if content in VOCABULARY else size
        size = max(size, id_ + 1)
        tokens.append(
            AddedToken(content, id_, *(generator.random() < 0.4 for _ in FLAGS)),
        )
    lower_case = seed % 2 == 0
    parts = [
        *contents,
        *" \t\u3000\n",
        "  ",
        *"1xab._[]中国ΔΟδσéÉ",
        "\u0301",
        "\x00",
        "\x01",
        "FILM",
    ]
    texts = ["".join(generator.choices(parts, k=generator.randint(0, 12))) for _ in range(800)]
    peer = create_peer(tokens, lower_case)
    expected = [encoding.ids for encoding in peer.encode_batch(texts, add_special_tokens=False)]
    tokenizer = BertTokenizer(vocab_file, lower_case, added_tokens=tokens)
    found = tokenizer.tokenize_with_offsets(texts)
    assert found.ids.to_list() == expected
    assert tokenizer.tokenize(texts).to_list() == expected
    plain = PlainTokenizer(VOCABULARY, lower_case, added_tokens=tokens)
    spans = zip(found.char_starts.to_list(), found.char_ends.to_list(), strict=True)
    for text, ids, (starts, ends) in zip(texts, expected, spans, strict=True):
        assert plain.ids(text) == ids
        assert plain.ids_and_spans(text) == (ids, starts, ends)


def test_a_space_between_two_tokens_belongs_to_the_first_that_takes_it(vocab_file):
    size = len(VOCABULARY)
    tokens = [AddedToken("[E1]", size, rstrip=True), AddedToken("[E2]", size + 1, lstrip=True)]
    text = "[E1]  [E2]"
    encoding = create_peer(tokens, lower_case=True).encode(text, add_special_tokens=False)
    assert (encoding.ids, encoding.offsets) == ([size, size + 1], [(0, 6), (6, 10)])
    found = BertTokenizer(vocab_file, added_tokens=tokens).tokenize_with_offsets([text])
    assert found.ids.to_list() == [encoding.ids]
    assert (found.char_starts.to_list(), found.char_ends.to_list()) == ([[0, 6]], [[6, 10]])
    plain = PlainTokenizer(VOCABULARY, added_tokens=tokens)
    assert plain.ids_and_spans(text) == (encoding.ids, [0, 6], [6, 10])


def test_final_sigmas_and_sorted_marks_stay_the_originals_next_to_added_tokens(vocab_file):
    tokens = ["[E1]", "ΟΣ"]
    graph = BertTokenizer(vocab_file, added_tokens=tokens)
    plain = PlainTokenizer(VOCABULARY, added_tokens=tokens)
    added = len(VOCABULARY), len(VOCABULARY) + 1
    for text in ("[E1]ΔΣ", "ΔΣ [e1]σ", "ΟΣ", "οσ x", "[E1]" + "a" * 201, "x\u0f74\u0f71[E1]"):
        ids = graph.tokenize([text]).to_list()[0]
        assert plain.ids(text) == ids
        assert {*added} & {*ids}


def test_ids_follow_the_vocabulary_and_features_keep_tokens_whole(vocab_file):
    size = len(VOCABULARY)
    tokenizer = BertTokenizer(vocab_file, added_tokens=["[E1]", "film", "[E2]", "[E1]"])
    assert [token.id for token in tokenizer.added_tokens] == [
        size,
        VOCABULARY.index("film"),
        size + 1,
    ]
    assert tokenizer.vocab_size == size + 2
    assert tokenizer.vocabulary[size:] == ["[E1]", "[E2]"]
    features = tokenizer.encode(["[E1] a [E2]"], ["[E2]"], max_seq_length=6)
    assert features["input_ids"].numpy().tolist() == [[2, size, 6, 3, size + 1, 3]]
    decoded = tokenizer.convert_ids_to_tokens([size, 6]).numpy().tolist()
    assert decoded == [b"[E1]", b"a"]


def test_saved_graph_contains_the_added_tokens(vocab_file, tmp_path):
    tokenizer = BertTokenizer(vocab_file, added_tokens=["[E1]", "a b"])
    module = tf.Module()
    module.tokenizer = tokenizer
    signature = [tf.TensorSpec([None], tf.string)]
    module.tokenize = tf.function(tokenizer.tokenize, signature, autograph=False)
    tf.saved_model.save(module, str(tmp_path))
    texts = ["x [E1]y", "A  B a b", "", "film"]
    loaded = tf.saved_model.load(str(tmp_path)).tokenize(tf.constant(texts))
    assert loaded.to_list() == tokenizer.tokenize(texts).to_list()
    dataset = tf.data.Dataset.from_tensors(texts).map(tokenizer.tokenize)
    assert next(iter(dataset)).to_list() == tokenizer.tokenize(texts).to_list()


def count_operations(tokenizer):
    function = tf.function(tokenizer.tokenize, autograph=False)
    graph = function.get_concrete_function(tf.TensorSpec([None], tf.string)).graph.as_graph_def()
    return len(graph.node) + sum(len(function.node_def) for function in graph.library.function)


def test_graph_without_added_tokens_searches_for_none(vocab_file):
    plain, empty = (
        count_operations(BertTokenizer(vocab_file, **options))
        for options in ({}, {"added_tokens": ()})
    )
    assert plain == empty < count_operations(BertTokenizer(vocab_file, added_tokens=["[E1]"]))


def test_special_tokens_of_bert_are_not_added():
    decoder = {str(id_): {"content": token, "special": True} for id_, token in enumerate(SPECIAL)}
    values = {"tokenizer_config.json": {"added_tokens_decoder": decoder}}
    assert parse_added_tokens(values, lambda: VOCABULARY) == ()


@pytest.mark.parametrize(
    ("tokens", "problem"),
    [
        ([AddedToken("[E1]", 90)], Message(None, "has ID 90", "must be 52")),
        ([AddedToken("film", 52)], Message(None, "its ID in the vocabulary")),
        ([""], Message(None, "must contain text")),
        (["a\x01"], Message(None, "must contain text, and no U")),
    ],
)
def test_unusable_added_tokens_are_rejected(tokens, problem, vocab_file):
    with raises_message(problem):
        BertTokenizer(vocab_file, added_tokens=tokens)


def test_damaged_files_are_rejected(tmp_path, vocab_file):
    path = tmp_path / "vocab.txt"
    path.write_text(pathlib.Path(vocab_file).read_text("utf-8"), encoding="utf-8")
    assert read_added_tokens(path) == ()
    config = tmp_path / "tokenizer_config.json"
    for values, problem in (
        ({"added_tokens_decoder": []}, "must be a list"),
        ({"added_tokens_decoder": {"x": {}}}, "must map IDs"),
        ({"added_tokens_decoder": {"99": {"content": "[E1]"}}}, "has ID 99; must be 52"),
        ({"added_tokens_decoder": {"52": {"content": "[E1]", "lstrip": 1}}}, "lstrip is 1"),
    ):
        config.write_text(json.dumps(values))
        with pytest.raises(InputError, match=problem) as error:
            read_added_tokens(path)
        assert str(tmp_path) in str(error.value)
    tokens = (AddedToken("[E1]", len(VOCABULARY), special=True, normalized=False),)
    config.write_text(json.dumps({"added_tokens_decoder": to_decoder(tokens)}))
    assert read_added_tokens(path) == tokens
