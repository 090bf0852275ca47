"""The functions of `draws` as they are, in plain Python, or compiled: two classes with the same methods."""

import functools

import numpy as np

from data_prep.machine import compiled, numba_module
from data_prep.pretraining.instances import draws

OF_MASKS = (draws.draw_masks, draws.position_of, draws.find_words)
OF_PAIRS = (draws.draw_pair, draws.draw_swapped_pair, draws.first_filled, draws.draw_sentences, draws.draw_truncated,
            *OF_MASKS)


class PlainDraws:
    """The draws in plain Python, from a RandomDraws, which is advanced. Arrays are NumPy's."""

    def __init__(self, rng):
        self._rng = rng

    def shuffle(self, items):
        """Shuffles an array in place."""
        self._rng.shuffle(memoryview(items))

    def draw_pairs(self, place, text, rules, drawn):
        """Does what draws.draw_pairs does."""
        return draws.draw_pairs(self._rng, place, *_viewed(text, rules, drawn))

    def draw_all_masks(self, part_starts, text, rules, drawn):
        """Does what draws.draw_all_masks does."""
        return draws.draw_all_masks(self._rng, memoryview(part_starts), *_viewed(text, rules, drawn))


def _viewed(text, rules, drawn):
    """Text, Rules and Drawn of memoryviews: taking an item is faster of these than of an array, and gives an int."""
    return (draws.Text(*map(memoryview, text)),
            rules._replace(numbers_to_predict=memoryview(rules.numbers_to_predict)),
            draws.Drawn(*map(memoryview, drawn)))


class CompiledDraws:
    """The same draws, compiled."""

    def __init__(self, rng):
        self._rng = rng
        _give_states_methods()

    def shuffle(self, items):
        """Shuffles an array in place."""
        self._run(compiled(draws.shuffle), items)

    def draw_pairs(self, place, text, rules, drawn):
        """Does what draws.draw_pairs does."""
        return self._run(compiled(draws.draw_pairs, *OF_PAIRS), place, text, rules, drawn)

    def draw_all_masks(self, part_starts, text, rules, drawn):
        """Does what draws.draw_all_masks does."""
        return self._run(compiled(draws.draw_all_masks, *OF_MASKS), part_starts, text, rules, drawn)

    def _run(self, function, *arguments):
        version, words, gauss = self._rng.getstate()
        state = np.array(words)
        result = function(state, *arguments)
        self._rng.setstate((version, tuple(state.tolist()), gauss))
        return result


@functools.cache
def _give_states_methods():
    """Gives arrays, in compiled functions, the methods of RandomDraws, and integers theirs."""
    numba = numba_module()
    numba.extending.register_jitable(draws.next_word)

    @numba.extending.overload_method(numba.types.Integer, "bit_length")
    def _(number):
        return draws.bit_length

    @numba.extending.overload_method(numba.types.Array, "getrandbits")
    def _(state, bits):
        return draws.state_getrandbits

    @numba.extending.overload_method(numba.types.Array, "random")
    def _(state):
        return draws.state_random

    @numba.extending.overload_method(numba.types.Array, "up_to")
    def _(self, last):
        return draws.RandomDraws.up_to

    @numba.extending.overload_method(numba.types.Array, "randint")
    def _(state, low, high):
        return draws.state_randint

    @numba.extending.overload_method(numba.types.Array, "shuffle")
    def _(self, items):
        return draws.RandomDraws.shuffle
