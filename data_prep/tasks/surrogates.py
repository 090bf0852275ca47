"""Halves of surrogate pairs, which JSON's escapes can hold ("\\ud83d") and UTF-8 cannot."""

import re

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_STAND_IN = "\U0010ffff"  # no character, and so in no vocabulary: [UNK], as half a pair is in the original


def without_surrogates(text):
    """A text that UTF-8 can encode: a character that is in no vocabulary stands for half a surrogate pair."""
    return text if text.isascii() else _LONE_SURROGATE.sub(_STAND_IN, text)
