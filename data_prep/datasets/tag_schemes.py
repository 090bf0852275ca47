"""Schemes of entity labels: IOB1, IOB2, IOBES (BIOES), BILOU, and BMES (BMEWO), read as IOB2."""

import re

OUTSIDE = "O"
# Scheme -> dict of its prefixes to those of IOBES. All labels of a file must have one scheme.
SCHEMES = {
    "IOBES": {prefix: prefix for prefix in "BIES"},
    "BILOU": {"B": "B", "I": "I", "L": "E", "U": "S"},
    "BMES": {"B": "B", "M": "I", "E": "E", "S": "S", "W": "S"},
}
ENTITY_LABEL = re.compile(r"([BIES])-(.+)")
# Labels of other schemes: B_PER, B:PER, b-per, PER-B, B.
_SIMILAR_LABEL = re.compile(r"[BIESLUMWbieslumw][-_:./|].+|.+[-_:./|][BIESLUMW]|[BI]|\d+|[Oo]")
_LETTER_LABEL = re.compile(r"([A-Z])-.+")


def find_scheme(names):
    """Finds the scheme of a file.

    Args:
      names: Set of str. All labels of the file.

    Returns:
      Dict of a prefix to that of IOBES, one of SCHEMES, or None if they do not have one scheme.
    """
    matches = [_LETTER_LABEL.fullmatch(name) for name in names - {OUTSIDE}]
    if not matches or not all(matches):
        return None
    prefixes = {match[1] for match in matches}
    return next((scheme for scheme in SCHEMES.values() if prefixes <= scheme.keys()), None)


def to_iob2(labels, scheme=SCHEMES["IOBES"]):
    """Converts the labels of a sentence to IOB2, a list of str.

    An entity begins at B- and S-, and at an I- or E- that does not continue an entity of its type.
    E- and S- end an entity. These rules are as lenient as conlleval and seqeval, so any
    label sequence is converted to a valid one.

    Args:
      labels: List of str.
      scheme: Dict of `find_scheme`.
    """
    converted = []
    open_type = None
    for label in labels:
        if label == OUTSIDE:
            converted.append(label)
            open_type = None
            continue
        prefix, type_ = label.split("-", 1)
        prefix = scheme[prefix]
        continues = prefix in "IE" and type_ == open_type
        converted.append(f"{'I' if continues else 'B'}-{type_}")
        open_type = type_ if prefix in "BI" else None
    return converted


def describe_unknown_scheme(names):
    """Returns a note about labels that resemble those of entities, or None.

    Args:
      names: Iterable of str. The labels of a training file.
    """
    names = sorted(names)
    similar = [name for name in names if _SIMILAR_LABEL.fullmatch(name)]
    if any(map(ENTITY_LABEL.fullmatch, names)) or len(similar) < min(2, len(names)):
        return None
    return (
        f"note: the labels {', '.join(similar[:4])} have no known scheme of entities, so words are "
        "scored instead of entities; for entities, write labels such as B-PER, I-PER, and O: the "
        "first line of a file could be 'Anna B-PER'"
    )
