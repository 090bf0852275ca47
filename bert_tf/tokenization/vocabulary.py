"""Reading `vocab.txt`: one WordPiece a line, its id the number of lines before it; which casing a checkpoint has.

This module needs no TensorFlow.
"""

import re

from bert_tf.errors import InputError
from bert_tf.files import read_bytes

SPECIAL_PIECES = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
SUFFIX_INDICATOR = "##"

# The limit of TensorFlow Text's FastWordpieceTokenizer; the longest piece of Google's vocabularies has 54 bytes.
MAX_PIECE_BYTES = 256

_BYTE_ORDER_MARK = "\ufeff"

# Folder names under which Google published checkpoints, the first group being what their text is cased as.
_PUBLISHED_MODEL = re.compile(r"(?:wwm_)?(uncased|cased|multi_cased|multilingual|chinese)_L-\d+_H-\d+_A-\d+")
_CASED_MODELS = ("cased", "multi_cased")


def read_vocabulary(path, name=None):
    """Reads and checks a vocabulary file.

    White space around a piece is not part of it, as in the original's `load_vocab`.

    Args:
      path: a UTF-8 text file, local or remote.
      name: str. What messages call the file; defaults to `path`.

    Returns:
      List of str, the piece of each id.

    Raises:
      InputError: naming file and line, for bytes that are not UTF-8, a blank line, a piece that was there
        before or is over MAX_PIECE_BYTES; naming the file, if it is empty or one of SPECIAL_PIECES is missing.
      OSError: if the file cannot be read.
    """
    content, path = read_bytes(path), name or path
    lines = {}
    for number, line in enumerate(content.removesuffix(b"\n").split(b"\n") if content else (), 1):
        piece = _piece(line, f"{path}, line {number}")
        if lines.setdefault(piece, number) != number:
            raise InputError(f"{path}, line {number}: {piece!r} is already on line {lines[piece]}; "
                             "an entry must be there once")
    if not lines:
        raise InputError(f"{path}: is empty; a vocabulary has one piece a line")
    missing = [piece for piece in SPECIAL_PIECES if piece not in lines]
    if missing:
        raise InputError(f"{path}: has no line {', '.join(missing)} among its {len(lines)}; BERT needs all of "
                         f"{', '.join(SPECIAL_PIECES)}")
    return list(lines)


def _piece(line, place):
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{place}: byte {error.start + 1} is 0x{line[error.start]:02x}, which is not UTF-8; "
                         "a vocabulary must be saved as UTF-8") from error
    if text.startswith(_BYTE_ORDER_MARK) and text != _BYTE_ORDER_MARK:
        raise InputError(f"{place}: begins with a byte-order mark; save the file as UTF-8 without one")
    # A lone space character of another alphabet is an entry that cannot be met, not a blank line.
    piece = text.strip() or text.strip(" \t\r")
    if not piece:
        raise InputError(f"{place}: is blank; a vocabulary has one piece a line")
    if len(piece.removeprefix(SUFFIX_INDICATOR).encode()) > MAX_PIECE_BYTES:
        raise InputError(f"{place}: a piece of {len(piece.encode())} bytes; {MAX_PIECE_BYTES} is the most")
    return piece


def check_casing(lower_case, checkpoint):
    """Refuses a casing that contradicts a checkpoint's name (the original's `validate_case_matches_checkpoint`).

    Args:
      lower_case: bool, the tokenizer's casing.
      checkpoint: path of a checkpoint file or of its folder, or None. Only folders named as Google named its
        releases, such as `uncased_L-12_H-768_A-12`, say anything about casing.

    Raises:
      InputError: on a contradiction, saying which casing the checkpoint was trained with.
    """
    folder, expected = published_casing(checkpoint)
    if folder and expected != bool(lower_case):
        raise InputError(
            f"`do_lower_case`={bool(lower_case)} contradicts `init_checkpoint`={checkpoint}: {folder} was "
            f"trained on {'lower-cased' if expected else 'cased'} text, so give "
            f"`do_lower_case`={expected} (or rename the folder if its name is wrong)")


def published_casing(checkpoint):
    """The folder by whose name a checkpoint is one of Google's releases, and whether these are lower-cased.

    (None, None) for any other checkpoint. Argument as `check_casing`'s.
    """
    for folder in reversed(re.split(r"[/\\]", checkpoint or "")[-2:]):
        published = _PUBLISHED_MODEL.fullmatch(folder)
        if published:
            return folder, published[1] not in _CASED_MODELS
    return None, None
