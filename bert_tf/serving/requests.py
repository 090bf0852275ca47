"""The texts of a request: checks, and conversion to str."""

from collections.abc import Mapping, Set

from bert_tf.errors import InputError


def check_request(kind, ranks, texts, is_ragged=False):
    """Checks and converts the inputs of a request; see `to_texts`.

    Args:
      kind: str. Kind of task of the model.
      ranks: Dict of name -> rank of the model's inputs.
      texts: Dict of name -> texts of the request.
      is_ragged: bool. Whether rows can have different lengths.

    Returns:
      Dict of name -> nested lists of str.

    Raises:
      InputError: If an input is missing, unknown, not a list of texts, or has a different size than
        the first.
    """
    if texts.keys() != ranks.keys():
        raise InputError(
            f"inputs {', '.join(texts) or 'none'}: a model of kind {kind} requires "
            + ", ".join(f"{name}=[...]" for name in ranks)
        )
    values = {name: to_texts(name, texts[name], rank, is_ragged) for name, rank in ranks.items()}
    first, *others = ranks
    for other in others:
        if len(values[other]) != len(values[first]):
            raise InputError(f"must contain as many examples as `{first}`", other)
    return values


def to_texts(name, values, rank=1, is_ragged=False):
    """Converts an input of a request to nested lists of str; drops invalid UTF-8 bytes.

    Args:
      name: str. Name of the input, for error messages.
      values: str or bytes in lists or arrays.
      rank: int. Number of dimensions.
      is_ragged: bool. Whether rows can have different lengths.

    Raises:
      InputError: If the rank is wrong, if rows are empty or have different lengths, or if a value
        is not a text.
    """
    if getattr(values, "shape", None) == ():
        raise InputError("must be a list of texts, not a scalar", name)
    if isinstance(values, str | bytes | Mapping | Set) or not hasattr(values, "__len__"):
        raise InputError(f"must be a list of texts, not {type(values).__name__}", name)
    if rank > 1:
        rows = [to_texts(name, row, rank - 1) for row in values]
        if not all(rows):
            raise InputError("must contain at least one text in each row", name)
        if len(set(map(len, rows))) > 1 and not is_ragged:
            raise InputError("must contain the same number of texts in each row", name)
        return rows
    return [_to_text(name, value) for value in values]


def _to_text(name, value):
    if isinstance(value, bytes):
        return value.decode("utf-8", "ignore")
    if not isinstance(value, str):
        raise InputError(f"must contain texts, not {type(value).__name__}", name)
    return value if value.isascii() else value.encode("utf-8", "ignore").decode()
