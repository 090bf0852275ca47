"""Conditions on other settings, in the rules of a setting.

A condition is "NAME" (the setting is true or, if it is not a boolean, differs from its default),
"NAME=VALUE", or several of these, separated by " or ". It is met if one of these terms is. Terms
about settings that a job does not have are ignored.
"""


def parse(text):
    """Returns the terms of a condition, a tuple of (name, value).

    The value is None for a term without one.
    """
    terms = (term.partition("=") for term in text.split(" or ")) if text else ()
    return tuple((name, value if equals else None) for name, equals, value in terms)


def parse_all(texts):
    """Returns the terms of each condition of a str, or of a tuple of str."""
    return tuple(map(parse, (texts,) if isinstance(texts, str) else texts))


def parse_advice(texts):
    """Returns (terms, advice) of each condition of a str, or of a tuple of str.

    A condition is "CONDITION" or "CONDITION; ADVICE". The advice includes "; ".
    """
    parts = (text.partition("; ") for text in ((texts,) if isinstance(texts, str) else texts))
    return tuple((parse(condition), mark + advice) for condition, mark, advice in parts)


def parse_required(required):
    """Returns (terms, terms of exceptions) of "CONDITION without CONDITION". One can be missing."""
    condition, _, exception = (
        required.partition("without ") if isinstance(required, str) else ("", "", "")
    )
    return parse(condition.strip()), parse(exception)


def is_met(terms, fields):
    """Returns whether a condition is met.

    None if no setting of it is in `fields`, (dataclasses.Field, value) pairs.
    """
    known = [
        is_true(field, value) if wanted is None else str(value).lower() == wanted.lower()
        for name, wanted in terms
        for field, value in fields
        if field.name == name
    ]
    return any(known) if known else None


def is_set(field, value):
    """Returns whether a value is neither the default nor empty."""
    return value != field.default and value != ""


def is_true(field, value):
    """Returns whether a value meets the condition "NAME"."""
    return value if isinstance(value, bool) else is_set(field, value)


def to_text(terms):
    """Formats a condition for messages, with backquotes around the names."""
    return " or ".join(
        f"`{name}`" + ("" if value is None else f"={value}") for name, value in terms
    )
