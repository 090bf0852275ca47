"""Hugging Face's tokenizer_config.json and tokenizer.json: the vocabulary and the casing."""

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


def follows_file(config):
    """Returns whether a tokenizer_config.json lets transformers follow all of the tokenizer.json.

    With a class of BERT, it takes only the vocabulary from that file.
    """
    return config.get("tokenizer_class") in FILE_CLASSES


def check_config(values, path):
    """Raises InputError if this project does not support a tokenizer_config.json."""
    kind = values.get("tokenizer_class")
    if kind is not None and kind not in TOKENIZER_CLASSES:
        raise InputError(
            f"{path}: tokenizer_class is {kind!r}: only {', '.join(TOKENIZER_CLASSES)} are "
            "supported"
        )
    keys.TOKENIZER_CONFIG.check(values, path)


def read_config_casing(values, path, has_file=False):
    """Returns the Casing in the values of a tokenizer_config.json.

    Args:
      values: Dict of its values.
      path: Path of the file.
      has_file: Whether there is a tokenizer.json. With a class of BERT, transformers then
        lowercases by default.

    Raises:
      InputError: If this project does not support the tokenizer, with the path.
    """
    check_config(values, path)
    if has_file and values.get("tokenizer_class") and not follows_file(values):
        values = {"do_lower_case": True} | values
    return get_casing(path, values)


def read_tokenizer_casing(values, path, is_followed=True):
    """Returns the Casing in the values of a tokenizer.json.

    Args:
      values: Dict of its values.
      path: Path of the file.
      is_followed: Whether its components count, besides the vocabulary.

    Raises:
      InputError: If this project does not support the tokenizer, with the path.
    """
    keys.TOKENIZER.check(values, path)
    if not is_followed:
        return Casing(None, None, path)
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
        kinds = known.fixed["type"]
        if not isinstance(component, dict):
            raise InputError(
                f"{path}: {name} is {component!r}: only {' or '.join(kinds)} is supported"
            )
        if component.get("type") not in kinds:
            raise InputError(
                f"{path}: {name}.type is {component.get('type')!r:.80}: only "
                f"{' or '.join(map(repr, kinds))} is supported"
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
