"""Added tokens in the files of transformers, next to a vocabulary.

`parse_added_tokens` follows transformers 5: for its class BertTokenizer, `added_tokens_decoder` of
tokenizer_config.json is the only source; without it, tokenizer.json and, in older directories,
added_tokens.json. For `PreTrainedTokenizerFast`, tokenizer.json takes precedence. Tokens that
special roles name, such as `additional_special_tokens`, are added if they are in neither. This
module does not import TensorFlow.
"""

import dataclasses
import itertools
import os

from bert_tf import files
from bert_tf.errors import InputError, name_file
from bert_tf.files import read_json_object, read_text
from bert_tf.tokenization.added_tokens import AddedToken, extend_vocabulary, to_added_tokens
from bert_tf.tokenization.vocabulary import SPECIAL_PIECES, read_vocabulary

TOKENIZER_NAME = "tokenizer.json"  # Hugging Face's tokenizers: the complete tokenizer.
TOKENIZER_CONFIG_NAME = "tokenizer_config.json"  # transformers: the arguments of the tokenizer.
ADDED_TOKENS_NAME = "added_tokens.json"  # Older transformers: content -> ID.
SPECIAL_TOKENS_NAME = "special_tokens_map.json"  # Older transformers: role -> token.
TOKEN_FILES = (TOKENIZER_NAME, TOKENIZER_CONFIG_NAME, ADDED_TOKENS_NAME, SPECIAL_TOKENS_NAME)
DECODER = "added_tokens_decoder"  # Key of tokenizer_config.json: ID -> token.

# Classes of transformers that follow tokenizer.json.
FILE_CLASSES = ("PreTrainedTokenizerFast", "TokenizersBackend")

# Keys of tokenizer_config.json and special_tokens_map.json, in the order of transformers.
_ROLES = ("bos", "eos", "unk", "sep", "pad", "cls", "mask")
_SPECIAL_LISTS = ("extra_special_tokens", "additional_special_tokens")


def read_added_tokens(vocab_file):
    """Reads the added tokens in the directory of a vocabulary.

    Args:
      vocab_file: Path of a vocab.txt, local or remote.

    Returns:
      Tuple of AddedToken.

    Raises:
      InputError: If a file is corrupted, or if transformers would give a token another ID.
    """
    folder = os.path.dirname(os.fspath(vocab_file)) or os.curdir
    values = read_token_files(folder)
    with name_file(folder):
        return parse_added_tokens(values, lambda: read_vocabulary(vocab_file))


def read_token_files(folder):
    """Returns the `values` of `parse_added_tokens` in a directory."""
    values = {}
    for name in TOKEN_FILES:
        path = os.path.join(folder, name)
        values[name] = read_json_object(path) if files.at(path).exists() else {}
    return values


def parse_added_tokens(values, read_vocabulary):
    """Returns the added tokens of a tokenizer of transformers.

    [PAD], [UNK], [CLS], [SEP], and [MASK] are not among them: in a text, they are ordinary words,
    as in the original.

    Args:
      values: Dict of file name -> content of the JSON file, a dict; {} or no key without the file.
      read_vocabulary: Function that returns the token of each ID without the added ones, a list of
        str. It is called only if there are any.

    Returns:
      Tuple of AddedToken.

    Raises:
      InputError: If a file is invalid, or if transformers would give a token another ID.
    """
    tokens = {}
    for entry in [*_list_entries(values), *_list_special_entries(values)]:
        content = entry.get("content")
        if isinstance(content, str) and content not in (*tokens, *SPECIAL_PIECES):
            tokens[content] = entry
    if not tokens:
        return ()
    vocabulary = read_vocabulary()
    added = []
    for token in to_added_tokens(tokens, vocabulary):
        entry = tokens[token.content]
        flags = {
            field.name: entry[field.name]
            for field in dataclasses.fields(AddedToken)
            if entry.get(field.name) is not None
        }
        flags.setdefault("normalized", not flags.get("special", False))
        added.append(dataclasses.replace(token, **flags))
    extend_vocabulary(vocabulary, added)
    return tuple(added)


def _list_entries(values):
    """Returns the added tokens of the files, a list of dicts, in the order of transformers."""
    config = values.get(TOKENIZER_CONFIG_NAME, {})
    in_file = values.get(TOKENIZER_NAME, {}).get("added_tokens") or []
    decoder = config.get(DECODER)
    if not isinstance(in_file, list) or not isinstance(decoder, dict | None):
        raise InputError(f"added_tokens must be a list, and {DECODER} an object")
    decoder = None if decoder is None else _to_entries(decoder)
    if config.get("tokenizer_class") in FILE_CLASSES and values.get(TOKENIZER_NAME):
        return [*in_file, *(decoder or [])]
    if decoder is not None:
        return decoder
    # For the contents of added_tokens.json, transformers overlooks the older name of the list.
    older = values.get(SPECIAL_TOKENS_NAME, {})
    older = {name: value for name, value in older.items() if name != _SPECIAL_LISTS[1]}
    special = {
        entry["content"] for entry in _list_special_entries({**values, SPECIAL_TOKENS_NAME: older})
    }
    listed = {
        id_: {"content": content, "id": id_, "special": content in special}
        for content, id_ in values.get(ADDED_TOKENS_NAME, {}).items()
    }
    entries = listed | {entry.get("id"): entry for entry in in_file if isinstance(entry, dict)}
    if not all(type(id_) is int for id_ in entries):
        raise InputError("the IDs of added tokens must be integers")
    return [entries[id_] for id_ in sorted(entries)]


def _to_entries(decoder):
    if not all(str(id_).isdecimal() and isinstance(entry, dict) for id_, entry in decoder.items()):
        raise InputError(f"{DECODER} must map IDs to objects")
    entries = {int(id_): entry for id_, entry in decoder.items()}
    return [entries[id_] | {"id": id_} for id_ in sorted(entries)]


def _list_special_entries(values):
    """Returns the tokens of special roles, a list of dicts without IDs."""
    config = values.get(TOKENIZER_CONFIG_NAME, {})
    older = {} if DECODER in config else values.get(SPECIAL_TOKENS_NAME, {})
    roles = config | {name: value for name, value in older.items() if name not in _SPECIAL_LISTS}
    named = [roles.get(f"{role}_token") for role in _ROLES]
    others = [
        value
        for name, value in roles.items()
        if name.endswith("_token") and name.removesuffix("_token") not in _ROLES
    ]
    lists = [
        next((role[name] for name in _SPECIAL_LISTS if isinstance(role.get(name), list)), [])
        for role in (config, older)
    ]
    entries = []
    for value in (*named, *others, *itertools.chain.from_iterable(lists)):
        if isinstance(value, str):
            entries.append({"content": value, "special": True, "normalized": False})
        elif isinstance(value, dict) and isinstance(value.get("content"), str):
            flags = {name: flag for name, flag in value.items() if name not in ("__type", "id")}
            entries.append({"normalized": False, **flags, "special": True})
    return entries


def to_decoder(added_tokens):
    """Returns `added_tokens_decoder` of a tokenizer_config.json, a dict."""
    return {
        str(token.id): {
            name: value for name, value in dataclasses.asdict(token).items() if name != "id"
        }
        for token in added_tokens
    }


def read_token_list(path):
    """Reads a file of tokens to add, one per line; white space around them is removed.

    Returns:
      List of distinct str.

    Raises:
      InputError: If the file is not UTF-8, contains no token, or contains one of SPECIAL_PIECES.
    """
    tokens = list(dict.fromkeys(filter(None, map(str.strip, read_text(path).splitlines()))))
    if not tokens:
        raise InputError(f"{path}: contains no token; each line is a token to add")
    for token in tokens:
        if token in SPECIAL_PIECES:
            raise InputError(f"{path}: contains {token}, which is part of every vocabulary")
    return tokens
