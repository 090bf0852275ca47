"""Vocabulary and casing next to a checkpoint, and tokenizers that are not supported."""

import json

import pytest

from bert_tf.checkpoints import ModelDirectory
from bert_tf.checkpoints.tokenizers import TokenizerFiles, save_tokenizer, to_vocab_txt
from bert_tf.tokenization.vocabulary import read_vocabulary
from tests.errors import Message, check_message, raises_message, rejects

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "größe", "##n", "a"]
BERT_NORMALIZER = {
    "type": "BertNormalizer",
    "clean_text": True,
    "handle_chinese_chars": True,
    "strip_accents": None,
    "lowercase": True,
}
WORDPIECE = {
    "type": "WordPiece",
    "unk_token": "[UNK]",
    "continuing_subword_prefix": "##",
    "vocab": {piece: number for number, piece in enumerate(PIECES)},
}


@pytest.mark.parametrize(
    ("contents", "expected"),
    [
        ({}, (None, None, None)),
        (
            {
                "tokenizer_config_json": {
                    "do_lower_case": True,
                    "strip_accents": None,
                    "tokenizer_class": "BertTokenizer",
                    "tokenize_chinese_chars": True,
                }
            },
            (True, None, "tokenizer_config.json"),
        ),
        (
            {"tokenizer_config_json": {"do_lower_case": False, "strip_accents": True}},
            (False, True, "tokenizer_config.json"),
        ),
        (
            {"tokenizer_json": {"normalizer": BERT_NORMALIZER | {"strip_accents": False}}},
            (True, False, "tokenizer.json"),
        ),
        (
            {
                "tokenizer_config_json": {"do_lower_case": False},
                "tokenizer_json": {"normalizer": BERT_NORMALIZER},
            },
            # Without the type of the model and a class, transformers follows this file.
            (True, None, "tokenizer.json"),
        ),
        (
            {
                "config_json": {"model_type": "bert"},
                "tokenizer_config_json": {"do_lower_case": False},
                "tokenizer_json": {"normalizer": BERT_NORMALIZER},
            },
            (False, None, "tokenizer_config.json"),
        ),
        (
            {
                "tokenizer_config_json": {"strip_accents": False},
                "tokenizer_json": {"normalizer": BERT_NORMALIZER},
            },
            (True, None, "tokenizer.json"),
        ),
        (
            {
                "config_json": {"model_type": "bert"},
                "tokenizer_config_json": {"strip_accents": False},
                "tokenizer_json": {"normalizer": BERT_NORMALIZER | {"lowercase": False}},
            },
            (True, False, "tokenizer_config.json"),
        ),
        (
            {"tokenizer_config_json": {"strip_accents": False}},
            (True, False, "tokenizer_config.json"),
        ),
        (
            {
                "task_json": {"do_lower_case": False},
                "tokenizer_config_json": {"do_lower_case": True},
            },
            (False, None, "task.json"),
        ),
        (
            {"task_json": {"do_lower_case": True, "strip_accents": False}},
            (True, False, "task.json"),
        ),
        ({"params_yaml": "task: {train_data: {lower_case: false}}"}, (False, None, "params.yaml")),
    ],
)
def test_sources_of_the_casing(written, contents, expected):
    folder = written(**contents)
    found = ModelDirectory.open(folder).tokenizer
    source = expected[2] and f"{folder}/{expected[2]}"
    assert (found.do_lower_case, found.strip_accents, found.casing_from) == (*expected[:2], source)


def test_tokenizer_json_takes_precedence_over_vocab_txt(written, capsys):
    folder = written(vocab_txt="")
    assert ModelDirectory.open(folder).tokenizer.vocab_file == f"{folder}/vocab.txt"
    written(tokenizer_json={"normalizer": BERT_NORMALIZER, "model": WORDPIECE})
    assert ModelDirectory.open(folder).tokenizer.vocab_file == f"{folder}/tokenizer.json"
    check_message(
        capsys.readouterr().err, None, "tokenizer.json takes precedence over vocab.txt next"
    )


@pytest.mark.parametrize(
    ("do_lower_case", "strip_accents"),
    [(True, None), (False, None), (True, False), (False, True), (None, None)],
)
@pytest.mark.parametrize("settings", [{}, {"tokenizer_class": "BertTokenizer"}])
def test_a_saved_tokenizer_is_found_again(
    written, tmp_path, do_lower_case, strip_accents, settings
):
    source = written(tmp_path / "source", tokenizer_json={"model": WORDPIECE})
    save_tokenizer(
        str(tmp_path),
        TokenizerFiles(f"{source}/tokenizer.json", do_lower_case, strip_accents),
        **settings,
    )
    found = ModelDirectory.open(str(tmp_path)).tokenizer
    assert (found.do_lower_case, found.strip_accents) == (do_lower_case, strip_accents)
    assert found.vocab_file == str(tmp_path / "vocab.txt")
    assert read_vocabulary(found.vocab_file) == PIECES
    casing = {} if do_lower_case is None else {"do_lower_case": do_lower_case}
    config = tmp_path / "tokenizer_config.json"
    assert (json.loads(config.read_text()) if config.exists() else {}) == (
        settings | casing | {"strip_accents": strip_accents} if settings or casing else {}
    )


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        (
            {"tokenizer_config_json": {"tokenize_chinese_chars": False}},
            Message(
                "tokenizer_config.json", "tokenize_chinese_chars is False", "only True is supported"
            ),
        ),
        (
            {"tokenizer_config_json": {"tokenizer_class": "BertJapaneseTokenizer"}},
            Message(
                "tokenizer_config.json",
                "tokenizer_class is 'BertJapaneseTokenizer'",
                "only BertTokenizer",
                "are supported",
            ),
        ),
        (
            {"tokenizer_json": {"normalizer": BERT_NORMALIZER | {"handle_chinese_chars": False}}},
            Message(
                "tokenizer.json",
                "normalizer.handle_chinese_chars is False",
                "only True is supported",
            ),
        ),
        (
            {"tokenizer_json": {"normalizer": {"type": "NFC"}}},
            Message("tokenizer.json", "normalizer.type is 'NFC'", "only 'BertNormalizer' is"),
        ),
        (
            {"tokenizer_json": {}},
            Message("tokenizer.json", "normalizer is None", "only BertNormalizer is supported"),
        ),
        (
            {"task_json": {"do_lower_case": 1}},
            Message("task.json", "do_lower_case is 1", "must be true or false"),
        ),
    ],
)
def test_tokenizers_that_are_not_supported(written, contents, message):
    folder = written(**contents)
    with raises_message(message) as caught:
        _ = ModelDirectory.open(folder).tokenizer
    assert str(caught.value).startswith(folder)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (None, Message("tokenizer.json", "contains no vocabulary (expected model.vocab)")),
        (
            {"type": "Unigram", "vocab": [["a", 0.5]]},
            Message("tokenizer.json", "model.type is 'Unigram'", "only 'WordPiece' is supported"),
        ),
        (
            WORDPIECE | {"unk_token": "<unk>"},
            Message("tokenizer.json", "model.unk_token is '<unk>'", "only '[UNK]' is supported"),
        ),
        (
            WORDPIECE | {"vocab": {"a": 0, "b": 2}},
            Message("tokenizer.json", "model.vocab must be 0 to", end=" 0 to 1"),
        ),
        (
            WORDPIECE | {"vocab": {"a": 0, "b": None}},
            Message("tokenizer.json", "model.vocab must be 0 to", end=" 0 to 1"),
        ),
    ],
)
def test_vocabularies_that_are_not_supported(written, model, message):
    path = f"{written(tokenizer_json={'model': model})}/tokenizer.json"
    with raises_message(message) as caught:
        to_vocab_txt(path)
    assert str(caught.value).startswith(path)


def test_messages_name_the_tokenizer_json_instead_of_its_temporary_copy(tmp_path):
    path = tmp_path / "tokenizer.json"
    pieces = {piece: number for number, piece in enumerate([*PIECES[:4], "a"])}
    path.write_text(json.dumps({"model": WORDPIECE | {"vocab": pieces}}))
    with rejects(path, "has no line [MASK] among", "5 lines"):
        read_vocabulary(to_vocab_txt(str(path)))
