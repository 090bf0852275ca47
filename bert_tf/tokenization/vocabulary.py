"""Vocabularies, and the casing of published checkpoints.

A `vocab.txt` has one WordPiece token per line, whose ID is its 0-based line number. This module
does not import TensorFlow.
"""

import codecs
import re

from bert_tf.errors import InputError
from bert_tf.files import read_bytes

UNKNOWN = "[UNK]"
VOCABULARY_NAME = "vocab.txt"
SPECIAL_PIECES = ("[PAD]", UNKNOWN, "[CLS]", "[SEP]", "[MASK]")
SUFFIX_INDICATOR = "##"

# The limit of TensorFlow Text's FastWordpieceTokenizer; the longest token of Google's vocabularies
# has 54 bytes.
MAX_PIECE_BYTES = 256

# Directory names of Google's published checkpoints; the first group is the casing of their text.
_PUBLISHED_MODEL = re.compile(
    r"(?:wwm_)?(uncased|cased|multi_cased|multilingual|chinese)_L-\d+_H-\d+_A-\d+"
)
_CASED_MODELS = ("cased", "multi_cased")

_sources = {}  # Path of a temporary vocabulary -> path of the file with its tokens.


def set_source(path, source):
    """Sets the file that messages name instead of a temporary vocabulary."""
    _sources[path] = source


def get_source(path):
    """Returns the file that messages about a vocabulary name."""
    return _sources.get(path, path)


def read_vocabulary(path):
    """Reads and checks a vocabulary file.

    White space around a token is removed, as in the original's `load_vocab`, and so is a byte-order
    mark. Blank and duplicate lines count; see `index_tokens`.

    Args:
      path: Path of a UTF-8 text file, local or remote.

    Returns:
      List of str. Token of each ID, "" for a blank line.

    Raises:
      InputError: If a line is not UTF-8 or is over MAX_PIECE_BYTES, with file and line; if the file
        lacks one of SPECIAL_PIECES, with the file.
      OSError: If the file cannot be read.
    """
    content = read_bytes(path).removeprefix(codecs.BOM_UTF8)
    vocabulary = [
        _read_piece(line, f"{get_source(path)}, line {number}")
        for number, line in enumerate(content.removesuffix(b"\n").split(b"\n"), 1)
    ]
    known = set(vocabulary)
    missing = [piece for piece in SPECIAL_PIECES if piece not in known]
    if missing:
        raise InputError(
            f"{get_source(path)}: has no line {', '.join(missing)} among its {len(vocabulary)} "
            f"lines; BERT requires all of {', '.join(SPECIAL_PIECES)}"
        )
    return vocabulary


def index_tokens(vocabulary):
    """Returns the dict of token -> ID for a list of tokens, as the original's `load_vocab`.

    For duplicates, it has the last ID.
    """
    return {token: id_ for id_, token in enumerate(vocabulary)}


def count_ids(vocabulary):
    """Returns the number of IDs that a model requires for a list of tokens.

    Blank lines at the end do not count.
    """
    return max((id_ for id_, token in enumerate(vocabulary) if token), default=-1) + 1


def describe_lines(vocabulary, vocab_size=None):
    """Returns messages about duplicate and blank lines, and about IDs of a model without a token.

    Args:
      vocabulary: List of str. Token of each ID.
      vocab_size: int. Number of IDs of the model, or None.

    Returns:
      List of str.
    """
    ids = index_tokens(vocabulary)
    messages = []
    first = next(
        (id_ for id_, token in enumerate(vocabulary) if not token or ids[token] != id_), None
    )
    if first is not None:
        messages.append(
            f"line {first + 1} is blank or occurs again; such lines count as IDs, and the last of "
            "equal lines is used, as in the original BERT"
        )
    if vocab_size and count_ids(vocabulary) < vocab_size:
        messages.append(
            f"has {count_ids(vocabulary):,} entries, fewer than vocab_size of the model "
            f"({vocab_size:,}); the model's other IDs are unused"
        )
    return messages


def _read_piece(line, location):
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"{location}: byte {error.start + 1} is 0x{line[error.start]:02x}, which is not UTF-8; "
            "save the vocabulary as UTF-8"
        ) from error
    piece = text.strip()
    if len(piece.removeprefix(SUFFIX_INDICATOR).encode()) > MAX_PIECE_BYTES:
        raise InputError(
            f"{location}: the token has {len(piece.encode())} bytes; the maximum is "
            f"{MAX_PIECE_BYTES}"
        )
    return piece


def check_casing(lower_case, path):
    """Rejects a casing that contradicts the name of a checkpoint.

    This is the original's `validate_case_matches_checkpoint`.

    Args:
      lower_case: bool. Casing of the tokenizer.
      path: Path of a checkpoint file or its directory, or None. Only directories with the
        names of Google's releases, such as `uncased_L-12_H-768_A-12`, imply a casing.

    Raises:
      InputError: If they contradict, with the casing of the checkpoint.
    """
    folder, expected = find_published_casing(path)
    if folder and expected != bool(lower_case):
        raise InputError(
            f"conflicts with {path}: {folder} was trained on "
            f"{'lowercased' if expected else 'cased'} text; set `do_lower_case`={expected}, or "
            "rename the directory if its name is wrong",
            "do_lower_case",
            bool(lower_case),
        )


def find_published_casing(path):
    """Returns the directory named like one of Google's releases, and whether this is lowercased.

    Returns (None, None) for any other checkpoint. See `check_casing` for the argument.
    """
    for folder in reversed(re.split(r"[/\\]", path or "")[-2:]):
        published = _PUBLISHED_MODEL.fullmatch(folder)
        if published:
            return folder, published[1] not in _CASED_MODELS
    return None, None
