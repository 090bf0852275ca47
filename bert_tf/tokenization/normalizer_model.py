"""Models for TensorFlow Text's FastBertNormalizer kernel, from any table of replacements.

The kernel reads a text one UTF-8 character at a time, looks each up in a trie, and copies its
replacement. The model in TensorFlow Text folds compatibility characters, which BERT does not; this
module builds others. A model is a flatbuffer with the schema of tensorflow/text's
`fast_bert_normalizer_model.fbs`.

The trie is a double array in the layout of darts-clone: one array of 32-bit units. A node's unit
contains its label, the byte that leads to it, in the low 8 bits; HAS_VALUE; and, from bit
OFFSET_SHIFT, the exclusive or of its index and its base. The child for byte b is at index base ^ b
if the label of that unit is b, and the node's value is at index base ^ 0.
"""

import itertools

import flatbuffers
import numpy as np

HAS_VALUE = 1 << 8
OFFSET_SHIFT = 10
VALUE_FLAG = 1 << 31  # Marks the unit of a value as not a node.

_BLOCK = 256
_ROOT_BASE = _BLOCK  # The root's children fill the block.

# A value in the trie: _REPLACED, the offset of the replacement in the pool of strings, and its
# length in bytes.
_REPLACED = 1 << 30
_LENGTH_BITS = 6

# Slots of the flatbuffer table, in the field order of the schema.
_FIELDS = 4
_TRIE_SLOT = 1
_ZERO_VALUE_SLOT = 2
_POOL_SLOT = 3


def build(replacements):
    """Builds a normalizer model.

    It drops invalid UTF-8 bytes like Python's `bytes.decode("utf-8", "ignore")`.

    Args:
      replacements: Dict of character to its replacement, a str of at most 63 bytes.

    Returns:
      Bytes of the model, for `tensorflow_text.FastBertNormalizer(model_buffer=...)`.
    """
    pool = bytearray()
    values = {}
    trie_values = {"": _REPLACED}
    for character, replacement in replacements.items():
        if replacement not in trie_values:
            content = replacement.encode()
            trie_values[replacement] = _REPLACED | len(pool) << _LENGTH_BITS | len(content)
            pool += content
        values[character.encode()] = trie_values[replacement]
    zero_value = values.pop(b"\0", 0)  # The trie cannot contain this key.
    for sequence in _ill_formed_sequences():
        values[sequence] = trie_values[""]
    return _serialize(build_trie(values), zero_value, bytes(pool))


def build_trie(values):
    """Builds the array of the trie.

    The children of all nodes except the root are continuation bytes, 0x80 to 0xBF. Therefore, a
    block of 256 units can contain two of these nodes, with their bases at units 0 and 64 and their
    children in the upper half. The other units of the lower half have the values of nodes without
    children. A unit does not refer to its parent, so equal subtrees, which UTF-8 has many of, are
    stored once: a smaller trie stays in the caches of a CPU.

    Args:
      values: Dict of key, bytes of one UTF-8 character or of the beginning of one, to int in [0,
        2^31). Keys must not be empty or begin with a zero byte.

    Returns:
      uint32 array, long enough that index ^ byte is inside it for every index.
    """
    children = {b"": set()}
    for key in values:
        for end in range(len(key)):
            children.setdefault(key[:end], set()).add(key[: end + 1])
    blocks = itertools.count(_ROOT_BASE + _BLOCK, _BLOCK)
    node_bases = (block + unit for block in blocks for unit in (0, 64))
    value_bases = (
        unit for unit in itertools.count(_ROOT_BASE + _BLOCK) if unit % 64 and unit % _BLOCK < 128
    )
    base_of_value = dict(zip(set(values.values()), value_bases, strict=False))
    bases = {key: base_of_value[value] for key, value in values.items()}
    base_of_subtree = {}
    for key in sorted(children, key=len, reverse=True):
        subtree = (
            values.get(key),
            *sorted((child[-1], values.get(child), bases[child]) for child in children[key]),
        )
        if subtree not in base_of_subtree:
            base_of_subtree[subtree] = next(node_bases) if key else _ROOT_BASE
        bases[key] = base_of_subtree[subtree]
    units = np.zeros((max(bases.values()) // _BLOCK + 1) * _BLOCK, np.uint32)
    units[0] = _ROOT_BASE << OFFSET_SHIFT
    for parent, keys in children.items():
        for key in keys:
            index = bases[parent] ^ key[-1]
            units[index] = key[-1] | (index ^ bases[key]) << OFFSET_SHIFT
            if key in values:
                units[index] |= HAS_VALUE
                units[bases[key]] = VALUE_FLAG | values[key]
    return units


def _ill_formed_sequences():
    """Yields the byte sequences that the kernel can read from malformed UTF-8.

    These are stray bytes and incomplete characters.
    """
    for byte in range(0x80, 0x100):
        yield bytes([byte])
    # Characters that differ only in the last byte, which has 64 values, begin equally.
    for code_point in (*range(0x800, 0xD800, 64), *range(0xE000, 0x110000, 64)):
        character = chr(code_point).encode()
        for length in range(2, len(character)):
            yield character[:length]


def _serialize(units, zero_value, pool):
    builder = flatbuffers.Builder(len(pool) + 4 * len(units) + 256)
    pool_vector = builder.CreateByteVector(pool or b"\0")
    trie_vector = builder.CreateNumpyVector(np.asarray(units, "<u4"))
    builder.StartObject(_FIELDS)
    builder.PrependUOffsetTRelativeSlot(_TRIE_SLOT, trie_vector, 0)
    builder.PrependInt32Slot(_ZERO_VALUE_SLOT, zero_value, 0)
    builder.PrependUOffsetTRelativeSlot(_POOL_SLOT, pool_vector, 0)
    builder.Finish(builder.EndObject())
    return bytes(builder.Output())
