"""Hugging Face's tokenizer_config.json and tokenizer.json: the vocabulary and the casing."""

import json

from bert_tf import notes
from bert_tf.checkpoints import huggingface_file_keys as keys
from bert_tf.checkpoints.origin import Casing
from bert_tf.errors import InputError
from bert_tf.tokenization.token_files import FILE_CLASSES

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

# The tokens around one text, and around two, with the number of the segment.
SINGLE = [("[CLS]", 0), ("A", 0), ("[SEP]", 0)]
PAIR = [*SINGLE, ("B", 1), ("[SEP]", 1)]


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
    keys.TOKENIZER_MODEL.check(model, path, "model.", without=("max_input_chars_per_word",))
    ids = model["vocab"]
    pieces = (
        sorted(ids, key=ids.get)
        if isinstance(ids, dict) and all(type(each) is int for each in ids.values())
        else None
    )
    if pieces is None or [ids[piece] for piece in pieces] != [*range(len(pieces))]:
        raise InputError(f"{path}: the IDs of model.vocab must be 0 to {len(ids) - 1}")
    return pieces


def follows_file(config, model_config):
    """Returns whether transformers 5 follows all of a tokenizer.json.

    With a class of BERT, it takes only the vocabulary from that file. The type of the model implies
    this class.

    Args:
      config: Dict of the tokenizer_config.json; {} without one.
      model_config: Dict of the model's config.json; {} without one.
    """
    class_name = config.get("tokenizer_class") or model_config.get("tokenizer_class")
    return class_name in FILE_CLASSES if class_name else not model_config.get("model_type")


def check_tokenizer_config(values, path):
    """Raises InputError if this project does not support a tokenizer_config.json."""
    class_name = values.get("tokenizer_class")
    if class_name is not None and class_name not in TOKENIZER_CLASSES:
        raise InputError(
            f"{path}: tokenizer_class is {class_name!r}: only {', '.join(TOKENIZER_CLASSES)} are "
            "supported"
        )
    keys.TOKENIZER_CONFIG.check(values, path)


def check_special_tokens(values, path):
    """Prints a note about unknown keys of a special_tokens_map.json; each role is a token."""
    values = {key: value for key, value in values.items() if not key.endswith("_token")}
    keys.SPECIAL_TOKENS_MAP.check(values, path)


def read_config_casing(values, path):
    """Returns the Casing in the values of a tokenizer_config.json without a tokenizer.json.

    Args:
      values: Dict of its values.
      path: Path of the file.

    Raises:
      InputError: If this project does not support the tokenizer, with the path.
    """
    check_tokenizer_config(values, path)
    return get_casing(path, values)


def replace_casing(values, path, config, config_path):
    """Returns the Casing of a class of BERT, which takes only the vocabulary of a tokenizer.json.

    It lowercases by default. It prints a note if the file has another casing.

    Args:
      values: Dict of the tokenizer.json.
      path: Path of the file.
      config: Dict of the tokenizer_config.json; {} without one.
      config_path: Path of the file that determines the casing, for messages.

    Raises:
      InputError: If this project does not support the tokenizer, with the path.
    """
    keys.TOKENIZER.check(values, path)
    casing = get_casing(config_path, {"do_lower_case": True} | config)
    normalizer = values.get("normalizer")
    in_file = normalizer.get("lowercase") if isinstance(normalizer, dict) else None
    if isinstance(in_file, bool) and in_file != casing.do_lower_case:
        notes.tell(
            f"{path}: ignoring normalizer.lowercase, which is {json.dumps(in_file)}, like the "
            "BertTokenizer of transformers 5, which has do_lower_case in tokenizer_config.json "
            "(default: true)"
        )
    return casing


def read_tokenizer_casing(values, path):
    """Returns the Casing in the values of a tokenizer.json.

    Args:
      values: Dict of its values.
      path: Path of the file.

    Raises:
      InputError: If this project does not support the tokenizer, with the path.
    """
    keys.TOKENIZER.check(values, path)
    if isinstance(values.get("model"), dict):
        keys.TOKENIZER_MODEL.check(values["model"], path, "model.")
    for name, known in (
        ("normalizer", keys.TOKENIZER_NORMALIZER),
        ("pre_tokenizer", keys.TOKENIZER_PRE_TOKENIZER),
        ("post_processor", keys.TOKENIZER_POST_PROCESSOR),
    ):
        if name not in values and name != "normalizer":
            continue
        component = values.get(name)
        supported = known.fixed["type"]
        if not isinstance(component, dict):
            raise InputError(
                f"{path}: {name} is {component!r}: only {' or '.join(supported)} is supported"
            )
        if component.get("type") not in supported:
            raise InputError(
                f"{path}: {name}.type is {component.get('type')!r:.80}: only "
                f"{' or '.join(map(repr, supported))} is supported"
            )
        known.check(component, path, f"{name}.")
    _check_template(values.get("post_processor", {}), path)
    return get_casing(path, values["normalizer"], "lowercase")


def _check_template(values, path):
    """Raises InputError if a post-processor adds other tokens than BERT's."""
    for name, expected in (("single", SINGLE), ("pair", PAIR)):
        if name not in values:
            continue
        found = []
        for part in values[name]:
            (content,) = part.values()
            found.append((content["id"], content["type_id"]))
        if found != expected:
            tokens = " ".join(token for token, _ in found)
            raise InputError(
                f"{path}: post_processor.{name} is {tokens!r:.80}: only "
                f"{' '.join(token for token, _ in expected)!r} is supported"
            )


def get_casing(path, values, lower_case="do_lower_case"):
    """Returns the Casing in a dict of JSON values.

    Raises InputError with the path if a value is neither a bool nor null.
    """
    for name in (lower_case, "strip_accents"):
        if not isinstance(values.get(name), bool | None):
            raise InputError(f"{path}: {name} is {values[name]!r}: must be true or false")
    return Casing(values.get(lower_case), values.get("strip_accents"), path)
