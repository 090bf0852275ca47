#!/bin/sh
# Versions: numba 0.68.0 with numpy 2.4.6, CPython 3.11 to 3.13
#
# Behavior:
# Inside a function compiled by Numba, random.seed(1) followed by random.random() returns 0.4170220..., the first number
# of numpy.random.RandomState(1). The interpreter returns 0.1343642... for the same two calls.
#
# Output:
#     interpreted: 0.1343642441
#     compiled:    0.4170220047
#     RandomState: 0.4170220047
#
# Why a good guess is wrong:
# A good guess is that the results are equal: both modules use a Mersenne Twister with 53-bit results, Numba documents
# that it supports the functions of `random`, and random.random() has only one definition. But the interpreter expands the
# seed by init_by_array, and Numba seeds both `random` and `numpy.random` as NumPy seeds RandomState. Code that must
# repeat the draws of a Python program, such as the masking of BERT's training data, has to get the generator's 624 words
# from the interpreter (random.Random(seed).getstate()) and compute the draws itself.
set -eu
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
"${PYTHON:-python3}" -m venv "$directory/venv"
"$directory/venv/bin/pip" install -q --disable-pip-version-check numba==0.68.0 numpy==2.4.6
cat > "$directory/seed.py" <<'PYTHON_END'
import random

import numba
import numpy as np


def draw(seed):
    random.seed(seed)
    return random.random()


interpreted = draw(1)
compiled = numba.njit(draw)(1)
print(f"interpreted: {interpreted:.10f}")
print(f"compiled:    {compiled:.10f}")
print(f"RandomState: {np.random.RandomState(1).random_sample():.10f}")
assert interpreted == random.Random(1).random()
assert compiled == np.random.RandomState(1).random_sample()
assert compiled != interpreted
PYTHON_END
"$directory/venv/bin/python" "$directory/seed.py"
