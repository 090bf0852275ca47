"""Hugging Face's tokenizer_config.json and tokenizer.json: the vocabulary and the casing."""

from bert_tf.checkpoints.huggingface_config import check_fixed
from bert_tf.checkpoints.origin import Casing
from bert_tf.errors import InputError
from bert_tf.tokenization.vocabulary import SUFFIX_INDICATOR, UNKNOWN

TOKENIZER_NAME = "tokenizer.json"  # Hugging Face's tokenizers: the complete tokenizer.
TOKENIZER_CONFIG_NAME = "tokenizer_config.json"  # transformers: the arguments of the tokenizer.

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


def get_vocabulary(values, path):
    """Returns the tokens of the vocabulary in a tokenizer.json.

    Args:
      values: Dict of its values.
      path: Path of the file, for error messages.

    Returns:
      List of str, in the order of their IDs.

    Raises:
      InputError: If the file is corrupted, or if it contains no WordPiece vocabulary like BERT's,
        with the path.
    """
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


def read_config_casing(values, path):
    """Returns the Casing in the values of a tokenizer_config.json.

    Raises InputError with the path if this project does not support the tokenizer.
    """
    kind = values.get("tokenizer_class")
    if kind is not None and kind not in TOKENIZER_CLASSES:
        raise InputError(
            f"{path}: tokenizer_class is {kind!r}: only {', '.join(TOKENIZER_CLASSES)} are "
            "supported"
        )
    check_fixed(values, FIXED_SETTINGS, f"{path}: ")
    return get_casing(path, values)


def read_tokenizer_casing(values, path):
    """Returns the Casing in the values of a tokenizer.json.

    Raises InputError with the path if this project does not support the tokenizer.
    """
    normalizer = values.get("normalizer")
    if not isinstance(normalizer, dict):
        raise InputError(f"{path}: normalizer is {normalizer!r}: only {NORMALIZER} is supported")
    check_fixed(normalizer, FIXED_NORMALIZER_SETTINGS, f"{path}: normalizer.")
    return get_casing(path, normalizer, "lowercase")


def get_casing(path, values, lower_case="do_lower_case"):
    """Returns the Casing in a dict of JSON values.

    Raises InputError with the path if a value is neither a bool nor null.
    """
    for name in (lower_case, "strip_accents"):
        if not isinstance(values.get(name), bool | None):
            raise InputError(f"{path}: {name} is {values[name]!r}: must be true or false")
    return Casing(values.get(lower_case), values.get("strip_accents"), path)
