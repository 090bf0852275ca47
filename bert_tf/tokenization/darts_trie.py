"""A double-array trie over UTF-8 characters, in the layout of darts-clone, built in a fraction of a second.

The trie is one array of 32-bit units. A node's unit contains its label, the byte that leads to it, in the low 8 bits;
HAS_VALUE; and, from bit OFFSET_SHIFT, the exclusive or of its index and its base. The child for byte b is at index
base ^ b if the label of that unit is b, and the node's value is at index base ^ 0. Since a unit does not refer to its
parent, equal subtrees, which UTF-8 has many of, are stored once.

The children of all nodes except the root are continuation bytes, 0x80 to 0xBF. Therefore, a block of 256 units has
room for two of these nodes, with their bases at units 0 and 64 and their children in the upper half. The other units
of the lower half have the values of nodes without children.
"""

import itertools

import numpy as np

from bert_tf.errors import InputError

HAS_VALUE = 1 << 8
OFFSET_SHIFT = 10
VALUE_FLAG = 1 << 31  # Marks the unit of a value as not a node.

_BLOCK = 256
_ROOT_BASE = _BLOCK  # The root's children fill the block.
_LARGEST_OFFSET = 1 << 21


def build(values):
    """Builds the array.

    Args:
      values: Dict of key, bytes of one UTF-8 character or of the beginning of one, to int in [0, 2^31).
        Keys must not be empty or begin with a zero byte.

    Returns:
      uint32 array, long enough that index ^ byte is inside it for every index.
    """
    *others, root = _make_nodes(values)
    nodes = [root, *others]
    bases = _choose_bases(nodes)
    units = np.zeros((max(bases.values()) // _BLOCK + 1) * _BLOCK, np.uint32)

    def write(index, byte, node):
        value, base = node[0], bases[id(node)]
        if index ^ base >= _LARGEST_OFFSET:
            raise InputError("too many keys for a double array with 21-bit offsets")
        units[index] = byte | (index ^ base) << OFFSET_SHIFT
        if value is not None:
            units[index] |= HAS_VALUE
            units[base] = VALUE_FLAG | value

    write(0, 0, root)
    for node in nodes:
        for byte, child in node[1]:
            write(bases[id(node)] ^ byte, byte, child)
    return units


def _make_nodes(values):
    """Returns all nodes, the root last: tuples (value or None, ((byte, node), ...)), the same for equal subtrees."""
    shared = {}

    def make_node(items):
        """Returns the node for a sorted list of (remaining bytes, value)."""
        value = items.pop(0)[1] if items and not items[0][0] else None
        children = tuple((byte, make_node([(key[1:], value) for key, value in group]))
                         for byte, group in itertools.groupby(items, lambda item: item[0][0]))
        signature = (value, tuple((byte, id(child)) for byte, child in children))
        return shared.setdefault(signature, (value, children))

    make_node(sorted(values.items()))
    return shared.values()


def _choose_bases(nodes):
    """Returns the base of each node, a dict of id to int; no two are equal, or their nodes would share children."""
    blocks = itertools.count(_ROOT_BASE + _BLOCK, _BLOCK)
    inner_bases = itertools.chain([_ROOT_BASE], (block + unit for block in blocks for unit in (0, 64)))
    value_bases = (unit for unit in itertools.count(_ROOT_BASE + _BLOCK) if unit % 64 and unit % _BLOCK < 128)
    return {id(node): next(inner_bases if node[1] else value_bases) for node in nodes}
