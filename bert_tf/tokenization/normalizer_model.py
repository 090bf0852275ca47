"""Models for TensorFlow Text's FastBertNormalizer kernel, from any table of characters and their replacements.

The kernel reads a text one UTF-8 character at a time, looks each up in a trie, and copies its replacement. The model
in TensorFlow Text folds compatibility characters, which BERT does not; this module builds others. A model is a
flatbuffer with the schema of tensorflow/text's `fast_bert_normalizer_model.fbs`.
"""

import flatbuffers
import numpy as np

from bert_tf.errors import InputError
from bert_tf.tokenization import darts_trie

# A value in the trie: _REPLACED, the offset of the replacement in the pool of strings, and its length in bytes.
_REPLACED = 1 << 30
_LENGTH_BITS = 6

# Slots of the flatbuffer table, in the field order of the schema.
_FIELDS = 4
_TRIE_SLOT, _ZERO_VALUE_SLOT, _POOL_SLOT = 1, 2, 3


def build(replacements):
    """Builds a normalizer model, which drops invalid UTF-8 bytes like Python's `bytes.decode("utf-8", "ignore")`.

    Args:
      replacements: Dict of character to its replacement, a str of at most 63 bytes.

    Returns:
      Bytes of the model, for `tensorflow_text.FastBertNormalizer(model_buffer=...)`.
    """
    pool, values = bytearray(), {}
    trie_values = {"": _REPLACED}
    for character, replacement in replacements.items():
        if replacement not in trie_values:
            encoded = replacement.encode()
            if len(encoded) >= 1 << _LENGTH_BITS:
                raise InputError(f"U+{ord(character):04X} is replaced by {len(encoded)} bytes; the maximum is 63")
            trie_values[replacement] = _REPLACED | len(pool) << _LENGTH_BITS | len(encoded)
            pool += encoded
        values[character.encode()] = trie_values[replacement]
    zero_value = values.pop(b"\0", 0)  # The trie cannot contain it.
    for sequence in _ill_formed_sequences():
        values[sequence] = trie_values[""]
    return _serialize(darts_trie.build(values), zero_value, bytes(pool))


def _ill_formed_sequences():
    """Yields byte sequences that the kernel can read from malformed UTF-8: stray bytes and incomplete characters."""
    for byte in range(0x80, 0x100):
        yield bytes([byte])
    for code_point in (*range(0x800, 0xD800, 64), *range(0xE000, 0x110000, 64)):  # The last byte has 64 values.
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
