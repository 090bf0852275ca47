"""Numbers rounded to six decimal places as JSON text, like json.dumps of round(x, 6) but several times faster.

Python takes longer to format a float than a small model takes to compute it. Here a number is two looked-up strings:
its sign with all digits up to the third decimal place, then the other three digits.
"""

import functools
import json

import numpy as np

PLACES = 1_000_000  # Rounds to multiples of 1 / PLACES.
LARGEST = 32  # json formats larger numbers. Outputs of a layer are normalized.
LEAST_PLAIN = 100  # For fewer millionths, except 0, Python writes an exponent: 9.9e-05.
SEPARATOR = ", "


def texts(values):
    """Formats each row of values, float32 [n, H], with SEPARATOR between the numbers; list of n str."""
    # The product of a float32 and a million is exact in float64, so this equals round(x, 6) exactly.
    scaled = np.rint(values.astype(np.float64) * PLACES)
    if not (np.abs(scaled) < LARGEST * PLACES).all():  # Also if one is NaN.
        return [json.dumps(row)[1:-1] for row in (scaled / PLACES).tolist()]
    magnitude = np.abs(scaled).astype(np.int32)
    has_exponent = (magnitude > 0) & (magnitude < LEAST_PLAIN)
    thousands, rest = np.divmod(magnitude, 1000)
    rest[has_exponent] = 0
    strings, starts = _strings()
    first = np.where(rest > 0, starts["longer"], starts["whole"]) + thousands
    first[has_exponent] = starts["exponent"] + magnitude[has_exponent]
    first += np.signbit(scaled) * starts["negative"]
    places = np.stack([first, starts["rest"] + rest], axis=-1).reshape(len(values), -1).tolist()
    return ["".join(map(strings.__getitem__, row))[: -len(SEPARATOR)] for row in places]


@functools.cache
def _strings():
    """Returns the strings that numbers are composed of, and the start index of each kind of them."""
    positive, starts = [], {}
    for kind, kind_strings in (
        ("longer", [f"{number / 1000:.3f}" for number in range(1000 * LARGEST)]),  # Other digits follow.
        ("whole", [repr(number / 1000) for number in range(1000 * LARGEST)]),
        ("exponent", [repr(number / PLACES) for number in range(LEAST_PLAIN)]),
    ):
        starts[kind] = len(positive)
        positive += kind_strings
    starts["negative"] = len(positive)
    starts["rest"] = 2 * len(positive)
    rest = ["", *(f"{number:03}".rstrip("0") for number in range(1, 1000))]
    return [*positive, *(f"-{text}" for text in positive), *(text + SEPARATOR for text in rest)], starts
