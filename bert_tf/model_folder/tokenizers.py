"""The vocabulary next to a checkpoint, and the casing of its tokenizer."""

import dataclasses
import os

from bert_tf.errors import InputError
from bert_tf.files import read_json_object
from bert_tf.huggingface_config import check_fixed
from bert_tf.model_folder.configs import GARDEN_NAME, read_garden_casing
from bert_tf.model_folder.directories import find_file
from bert_tf.model_folder.saved_models import SAVED_MODEL_NAME, VOCABULARY_PATH, read_casing
from bert_tf.tasks.metadata import TASK_FILE
from bert_tf.tokenization.token_files import TOKENIZER_CONFIG_NAME, TOKENIZER_NAME
from bert_tf.tokenization.vocabulary import SUFFIX_INDICATOR, UNKNOWN, find_published_casing

VOCABULARY_NAME = "vocab.txt"

NORMALIZER = "BertNormalizer"

# Classes of transformers that split texts like BERT's tokenizer; the last two are for any
# tokenizer.json.
TOKENIZER_CLASSES = (
    "BertTokenizer",
    "BertTokenizerFast",
    "DistilBertTokenizer",
    "DistilBertTokenizerFast",
    "ElectraTokenizer",
    "ElectraTokenizerFast",
    "PreTrainedTokenizerFast",
    "TokenizersBackend",
)

# Settings of tokenizer_config.json that affect the tokens, and the only value that this project
# supports.
FIXED_SETTINGS = {
    "tokenize_chinese_chars": True,
    "do_basic_tokenize": True,
    "word_tokenizer_type": "basic",
    "subword_tokenizer_type": "wordpiece",
}
FIXED_NORMALIZER_SETTINGS = {"type": NORMALIZER, "clean_text": True, "handle_chinese_chars": True}
FIXED_MODEL_SETTINGS = {
    "type": "WordPiece",
    "unk_token": UNKNOWN,
    "continuing_subword_prefix": SUFFIX_INDICATOR,
}


@dataclasses.dataclass(frozen=True)
class TokenizerFiles:
    """A vocabulary and a casing."""

    # Path of vocab.txt, or else of the tokenizer.json that contains the vocabulary.
    vocab_file: str | None = None
    do_lower_case: bool | None = None  # None if unknown.
    # None if the tokenizer removes accents exactly if it lowercases.
    strip_accents: bool | None = None
    # Path of the file, or name of the directory, that determines the casing.
    casing_from: str | None = None
    # AddedTokens to save with the vocabulary; None for those in its directory.
    added_tokens: tuple | None = None


def find_tokenizer(checkpoint):
    """Finds the TokenizerFiles next to a checkpoint.

    The casing is from the first of these that has it: task.json of this project,
    tokenizer_config.json, the normalizer of tokenizer.json, do_lower_case of a SavedModel, the
    directory name of a published model, or params.yaml.

    Raises:
      InputError: If a file is corrupted, or if this project does not support the tokenizer, with
        the path.
    """
    vocab_file = find_vocabulary(checkpoint)
    strip_accents = None
    for name, read in _CASINGS.items():
        path = find_file(checkpoint, name)
        do_lower_case, accents = read(path) if path else (None, None)
        # This setting can be in another file than the casing.
        strip_accents = accents if strip_accents is None else strip_accents
        if do_lower_case is not None:
            break
    else:
        path, do_lower_case = find_published_casing(os.fsdecode(checkpoint))
        garden = find_file(checkpoint, GARDEN_NAME)
        if path is None and garden:
            path = garden
            do_lower_case = read_garden_casing(garden)
    if do_lower_case is None and strip_accents is not None:
        # Transformers lowercases by default.
        path = find_file(checkpoint, TOKENIZER_CONFIG_NAME)
        do_lower_case = True
    if do_lower_case is None:
        return TokenizerFiles(vocab_file)
    return TokenizerFiles(
        vocab_file, do_lower_case, None if strip_accents == do_lower_case else strip_accents, path
    )


def find_vocabulary(checkpoint):
    """Returns the path of the vocab.txt next to a checkpoint, or else of the tokenizer.json.

    None without either.

    In a SavedModel, the vocab.txt is in assets/.
    """
    return find_file(checkpoint, VOCABULARY_NAME, TOKENIZER_NAME, VOCABULARY_PATH)


def read_tokenizer_json_vocabulary(path):
    """Returns the tokens of the vocabulary in a tokenizer.json.

    Returns:
      List of str, in the order of their IDs.

    Raises:
      InputError: If the file is corrupted, or if it contains no WordPiece vocabulary like BERT's,
        with the path.
    """
    values = read_json_object(path)
    model = values.get("model")
    if not isinstance(model, dict) or not isinstance(model.get("vocab"), dict | list):
        raise InputError(f"{path}: contains no vocabulary (expected model.vocab)")
    check_fixed(model, FIXED_MODEL_SETTINGS, f"{path}: model.")
    ids = model["vocab"]
    pieces = (
        sorted(ids, key=ids.get)
        if isinstance(ids, dict) and all(type(each) is int for each in ids.values())
        else None
    )
    if pieces is None or [ids[piece] for piece in pieces] != [*range(len(pieces))]:
        raise InputError(f"{path}: the IDs of model.vocab must be 0 to {len(ids) - 1}")
    return pieces


def _read_tokenizer_config_casing(path):
    values = read_json_object(path)
    kind = values.get("tokenizer_class")
    if kind is not None and kind not in TOKENIZER_CLASSES:
        raise InputError(
            f"{path}: tokenizer_class is {kind!r}: only {', '.join(TOKENIZER_CLASSES)} are "
            "supported"
        )
    check_fixed(values, FIXED_SETTINGS, f"{path}: ")
    return _get_casing(path, values)


def _read_tokenizer_json_casing(path):
    normalizer = read_json_object(path).get("normalizer")
    if not isinstance(normalizer, dict):
        raise InputError(f"{path}: normalizer is {normalizer!r}: only {NORMALIZER} is supported")
    check_fixed(normalizer, FIXED_NORMALIZER_SETTINGS, f"{path}: normalizer.")
    return _get_casing(path, normalizer, "lowercase")


# Files in a directory that contain the casing; the first ones take precedence.
_CASINGS = {
    TASK_FILE: lambda path: _get_casing(path, read_json_object(path)),
    TOKENIZER_CONFIG_NAME: _read_tokenizer_config_casing,
    TOKENIZER_NAME: _read_tokenizer_json_casing,
    SAVED_MODEL_NAME: lambda path: (read_casing(path), None),
}


def _get_casing(path, values, lower_case="do_lower_case"):
    """Returns do_lower_case and strip_accents of a dict of JSON values.

    Each is a bool, or None if it is unknown.
    """
    for name in (lower_case, "strip_accents"):
        if not isinstance(values.get(name), bool | None):
            raise InputError(f"{path}: {name} is {values[name]!r}: must be true or false")
    return values.get(lower_case), values.get("strip_accents")
