"""Texts as Python strings, and rows of IDs, in plain Python: the same as `model_inputs.pack` creates in a graph."""

from typing import NamedTuple

import numpy as np

from bert_tf.errors import InputError


class Row(NamedTuple):
    """[CLS] a [SEP] or [CLS] a [SEP] b [SEP], without padding: list of int each, and whether pieces were left out."""

    ids: list
    segments: list
    was_cut: bool


def pack(tokenizer, first, second, max_seq_length):
    """Packs pieces into a Row, cut as BertTokenizer.encode says.

    Args:
      tokenizer: PlainTokenizer.
      first, second: lists of int; second None for a single text.
      max_seq_length: most pieces of the row.
    """
    room = max_seq_length - (2 if second is None else 3)
    keep_first, keep_second = min(len(first), room), 0
    if second:
        # Taking from the longer ends either with the shorter whole or with both at half the room.
        keep_first = min(len(first), max(room - len(second), room - room // 2))
        keep_second = min(len(second), room - keep_first)
    elif second is not None:  # a second text without a piece has no [SEP], and leaves its place to the first
        keep_first = min(len(first), room + 1)
    ids = [tokenizer.cls_id, *first[:keep_first], tokenizer.sep_id]
    segments = [0] * len(ids)
    if keep_second:
        ids += [*second[:keep_second], tokenizer.sep_id]
        segments += [1] * (keep_second + 1)
    return Row(ids, segments, keep_first + keep_second < len(first) + len(second or ()))


def pack_texts(tokenizer, max_seq_length, texts, others=None):
    """Lists of str, `others` for pairs -> list of Row; see `pack`."""
    if others is None:
        return [pack(tokenizer, tokenizer.ids(text), None, max_seq_length) for text in texts]
    return [pack(tokenizer, tokenizer.ids(text), tokenizer.ids(other), max_seq_length)
            for text, other in zip(texts, others, strict=True)]


def were_cut(rows):
    """Rows -> bool [N], whether tokens were left out of each."""
    return np.array([row.was_cut for row in rows], bool)


def rows_of(features):
    """The Rows of features: dict of input_ids, input_mask and segment_ids, int [N, S] -> list of N Rows."""
    counts = features["input_mask"].sum(axis=1)
    return [Row(ids[:count].tolist(), segments[:count].tolist(), False) for ids, segments, count in zip(
        features["input_ids"], features["segment_ids"], counts, strict=True)]


def check_request(kind, ranks, texts, is_ragged=False):
    """Checks the inputs of a request.

    Args:
      kind: str. Kind of task, for messages.
      ranks: Dict of the name of each input -> rank.
      texts: Dict of name -> str or bytes in lists or arrays.
      is_ragged: As `as_texts`.

    Returns:
      Dict of name -> nested lists of str, in the order of `ranks`.

    Raises:
      InputError: If an input is missing, unknown, no list of texts, or of another size than the first.
    """
    if texts.keys() != ranks.keys():
        raise InputError(f"inputs {', '.join(texts) or 'none'}: a model of kind {kind} takes {', '.join(ranks)}")
    values = {name: as_texts(name, texts[name], rank, is_ragged) for name, rank in ranks.items()}
    first, *others = ranks
    for other in others:
        if len(values[other]) != len(values[first]):
            raise InputError(f"`{other}` must hold as many examples as `{first}`")
    return values


def as_texts(name, values, rank=1, is_ragged=False):
    """A request's input as nested lists of str; bytes that are not UTF-8 are dropped.

    Args:
      name: of the input, for messages.
      values: str or bytes in lists or arrays.
      rank: dimensions that it must have.
      is_ragged: whether rows may have different lengths.

    Raises:
      InputError: another rank, rows of different lengths, or something that is no text.
    """
    if isinstance(values, str | bytes) or not hasattr(values, "__len__"):
        raise InputError(f"`{name}` must be a list of texts, not {type(values).__name__}")
    if rank > 1:
        rows = [as_texts(name, row, rank - 1) for row in values]
        if len(set(map(len, rows))) > 1 and not is_ragged:
            raise InputError(f"`{name}` must hold as many texts in each row as in the others")
        return rows
    return [_as_text(name, value) for value in values]


def _as_text(name, value):
    if isinstance(value, bytes):
        return value.decode("utf-8", "ignore")
    if not isinstance(value, str):
        raise InputError(f"`{name}` must hold texts, not {type(value).__name__}")
    return value if value.isascii() else value.encode("utf-8", "ignore").decode()


def as_strings(rows, width=None):
    """str, or lists of str, as an array of bytes: object [B], or [B, width] filled up with b""."""
    if width is None:
        result = np.empty(len(rows), object)
        result[:] = [text.encode() for text in rows]
        return result
    result = np.full([len(rows), width], b"", object)
    for row, texts in enumerate(rows):
        result[row, : len(texts)] = [text.encode() for text in texts]
    return result
