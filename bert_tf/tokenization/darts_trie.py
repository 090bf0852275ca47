"""A double-array trie over UTF-8 characters, in the layout of darts-clone, built in a fraction of a second.

The trie is one array of 32-bit units. A node's unit contains its label, the byte that leads to it, in the low 8 bits;
HAS_VALUE; and, from bit OFFSET_SHIFT, the exclusive or of its index and its base. The child for byte b is at index
base ^ b if the label of that unit is b, and the node's value is at index base ^ 0. Since a unit does not refer to its
parent, equal subtrees, which UTF-8 has many of, are stored once.
"""

import itertools

import numpy as np

from bert_tf.errors import InputError

HAS_VALUE = 1 << 8
OFFSET_SHIFT = 10
VALUE_FLAG = 1 << 31  # Marks the unit of a value as not a node.

_CELLS = 64  # Continuation bytes of UTF-8, 0x80 to 0xBF: the children of every node except the root.
_CONTINUATION = 0x80
_ROOT_BASE = 256  # The root's children fill units 256 to 511.
_FIRST_REGION = 512 // _CELLS
_LARGEST_OFFSET = 1 << 21


def build(values):
    """Builds the array.

    Args:
      values: Dict of key, bytes of one UTF-8 character or of the beginning of one, to int in [0, 2^31).
        Keys must not be empty or begin with a zero byte.

    Returns:
      uint32 array, long enough that index ^ byte is inside it for every index.
    """
    return _Layout(_share_subtrees(_tree(values))).units


def _tree(values):
    """Returns nested dicts: byte -> node, and None -> the value of a node that has one."""
    root = {}
    for key, value in values.items():
        node = root
        for byte in key:
            node = node.setdefault(byte, {})
        node[None] = value
    return root


def _share_subtrees(root):
    """Returns the tree with equal subtrees as the same tuple (value or None, ((byte, node), ...))."""
    shared = {}

    def share(node):
        children = tuple((byte, share(node[byte])) for byte in sorted(byte for byte in node if byte is not None))
        signature = (node.get(None), tuple((byte, id(child)) for byte, child in children))
        return shared.setdefault(signature, (node.get(None), children))

    return share(root)


class _Layout:
    """Places nodes: the children of a node in a region of 64 cells, and single values in unused cells."""

    def __init__(self, root):
        inner = self._inner_nodes(root)
        leaves = self._leaves([root, *inner])
        regions = self._regions(inner)
        size = (max(regions, default=_FIRST_REGION) + 4) * _CELLS + len(leaves)
        self._units = np.zeros(_round_up(size, 256), np.uint32)
        self._free = np.ones(len(self._units), bool)
        self._free[:_FIRST_REGION * _CELLS] = False

        self._bases = {id(root): _ROOT_BASE}
        for node, region in zip(inner, regions, strict=True):
            self._place_children(node, region)
        self._place_leaves(leaves)
        self._write_node(0, 0, root)
        for node in [root, *inner]:
            for byte, child in node[1]:
                self._write_node(self._bases[id(node)] ^ byte, byte, child)

    @property
    def units(self):
        used = np.flatnonzero(self._units)[-1] + 1
        return self._units[:_round_up(int(used), 256)]

    @staticmethod
    def _inner_nodes(root):
        """Returns all nodes below the root that have children, each once."""
        nodes, waiting = {}, [root]
        while waiting:
            for _, child in waiting.pop()[1]:
                if child[1] and id(child) not in nodes:
                    nodes[id(child)] = child
                    waiting.append(child)
        return list(nodes.values())

    @staticmethod
    def _leaves(parents):
        return list({id(child): child for node in parents for _, child in node[1] if not child[1]}.values())

    @staticmethod
    def _regions(inner):
        """Returns the region of each node's children.

        A node's own value is at its base, two regions away from its children, since continuation bytes begin with the
        bits 10. Therefore, nodes with a value use the first two of four regions for their children, and no other node
        uses the other two.
        """
        with_value = sum(value is not None for value, _ in inner)
        quads = itertools.chain.from_iterable((region, region + 1) for region in itertools.count(_FIRST_REGION, 4))
        others = itertools.count(_FIRST_REGION + 4 * -(-with_value // 2))
        return [next(others if value is None else quads) for value, _ in inner]

    def _place_children(self, node, region):
        value, children = node
        base = (region * _CELLS) ^ _CONTINUATION
        self._bases[id(node)] = base
        self._free[[base ^ byte for byte, _ in children]] = False
        if value is not None:
            self._free[base] = False

    def _place_leaves(self, leaves):
        # Two nodes with the same base would share their children.
        taken = set(self._bases.values())
        cells = (cell for cell in np.flatnonzero(self._free).tolist() if cell not in taken)
        self._bases.update((id(leaf), cell) for leaf, cell in zip(leaves, cells, strict=False))

    def _write_node(self, index, byte, node):
        value, _ = node
        base = self._bases[id(node)]
        if index ^ base >= _LARGEST_OFFSET:
            raise InputError("too many keys for a double array with 21-bit offsets")
        self._units[index] = byte | (index ^ base) << OFFSET_SHIFT | (HAS_VALUE if value is not None else 0)
        if value is not None:
            self._units[base] = VALUE_FLAG | value


def _round_up(number, multiple):
    return -(-number // multiple) * multiple
