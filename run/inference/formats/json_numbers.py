"""Numbers rounded to six decimal places as JSON text: what json.dumps makes of round(x, 6), several times faster.

Python takes longer to write out a float than a small model takes to compute it. Here a number is two looked-up strings:
its sign with all digits down to the third decimal place, then the other three digits.
"""

import functools
import json

import numpy as np

PLACES = 1_000_000  # rounding is to multiples of one over this
LARGEST = 32  # numbers from here on are left to json; outputs of a layer are normalised
LEAST_PLAIN = 100  # below so many millionths, but for 0, Python writes an exponent: 9.9e-05
SEPARATOR = ", "


def texts(values):
    """The numbers of each row of values float32 [n, H] as text, with SEPARATOR between them; list of n str."""
    # The product of a float32 and a million is exact in float64, so this is round(x, 6) to the last bit.
    scaled = np.rint(values.astype(np.float64) * PLACES)
    if not (np.abs(scaled) < LARGEST * PLACES).all():  # nor is it if one is not a number
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
    """Strings that numbers are put together of, and where each kind of them starts."""
    positive, starts = [], {}
    for kind, kind_strings in (
        ("longer", [f"{number / 1000:.3f}" for number in range(1000 * LARGEST)]),  # other digits follow
        ("whole", [repr(number / 1000) for number in range(1000 * LARGEST)]),
        ("exponent", [repr(number / PLACES) for number in range(LEAST_PLAIN)]),
    ):
        starts[kind] = len(positive)
        positive += kind_strings
    starts["negative"] = len(positive)
    starts["rest"] = 2 * len(positive)
    rest = ["", *(f"{number:03}".rstrip("0") for number in range(1, 1000))]
    return [*positive, *(f"-{text}" for text in positive), *(text + SEPARATOR for text in rest)], starts
