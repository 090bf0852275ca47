"""Counts of the words and characters in text files, split into words like the tokenizer does.

Applies the rules of bert_tf.tokenization.plain in plain Python, once per distinct string between
spaces instead of once per occurrence, in worker processes that do not import TensorFlow.
"""

import collections
import contextlib
import dataclasses
from typing import NamedTuple

from tqdm import tqdm

from bert_tf import files, processor
from bert_tf.tokenization.plain import MAX_WORD_CHARACTERS, chunks, split_chunk
from data_prep.processes import map_in_processes
from data_prep.reading import drop_garbled, read_blocks

BLOCK_BYTES = 4 << 20
MAX_DISTINCT_WORDS = 5_000_000  # In memory, about 150 bytes each.


@dataclasses.dataclass(frozen=True)
class WordCounts:
    """Results of `count_words`.

    Attributes:
      words: Dict of word to number of occurrences, without words longer than MAX_WORD_CHARACTERS.
      characters: Dict of character to number of occurrences in words of up to MAX_WORD_CHARACTERS.
      num_dropped: int. Occurrences of the words dropped from `words` because of the limit on
        distinct words. Their characters are counted in `characters`.
      num_garbled: int. Number of lines whose invalid UTF-8 bytes were dropped.
    """

    words: dict
    characters: dict
    num_dropped: int
    num_garbled: int = 0


class BlockCounts(NamedTuple):
    """Counts of a block of text.

    Attributes:
      words: Dict of word to number of occurrences, in the order of first occurrence.
      num_file_bytes: int. Bytes of the file that were read for the block, perhaps compressed.
      num_garbled: int. Number of lines whose invalid UTF-8 bytes were dropped.
    """

    words: dict
    num_file_bytes: int
    num_garbled: int


def count_words(paths, settings):
    """Counts the words and characters of text files, and shows a progress bar on standard error.

    Memory is bounded by MAX_DISTINCT_WORDS and by the blocks in flight, not by the size of the
    text. If the distinct words exceed the limit, the rarest are dropped until half the limit
    remains, which keeps this step infrequent. Ties keep the words seen first. The result depends on
    the files and their order, not on the number of workers.

    Args:
      paths: List of paths of UTF-8 text files. Files in gzip format are decompressed.
      settings: VocabularySettings.

    Returns:
      WordCounts.

    Raises:
      InputError: If a .gz file is damaged, or a file is UTF-16. The message names the file.
    """
    words = collections.Counter()
    characters = collections.Counter()
    num_dropped = 0
    num_garbled = 0
    progress = tqdm(
        total=sum(files.at(path).size() for path in paths),
        desc="counting words",
        unit="B",
        unit_scale=True,
    )
    with progress:
        for block in _count_blocks(paths, settings):
            for word, count in block.words.items():
                for character in word:
                    characters[character] += count
            words.update(block.words)
            num_dropped += _drop_rarest(words, MAX_DISTINCT_WORDS)
            num_garbled += block.num_garbled
            progress.update(block.num_file_bytes)
    return WordCounts(dict(words), dict(characters), num_dropped, num_garbled)


def _drop_rarest(words, max_words):
    """Drops the rarest words in place if there are over `max_words`, until half of it remain.

    Args:
      words: Dict of word to number of occurrences, in the order of first occurrence. Ties keep the
        words seen first.
      max_words: int. Maximum number of words.

    Returns:
      The number of occurrences dropped.
    """
    if len(words) <= max_words:
        return 0
    by_count = sorted(words, key=words.get, reverse=True)  # Stable: ties keep their order.
    return sum(words.pop(word) for word in by_count[max_words // 2 :])


def _count_blocks(paths, settings):
    """Yields the BlockCounts of the blocks of files, in the order of the text."""
    num_workers = settings.num_workers or processor.count_cores()
    lower_case = settings.casing.do_lower_case
    strip_accents = settings.casing.strip_accents
    if strip_accents is None:
        strip_accents = lower_case
    # No word extends across a space or a line end, and neither byte occurs inside a UTF-8
    # character.
    blocks = (
        block
        for path in paths
        for block in read_blocks(path, block_bytes=BLOCK_BYTES, separator=b" ")
    )
    if num_workers == 1 or sum(files.at(path).size() for path in paths) <= BLOCK_BYTES:
        for block in blocks:
            yield _count_block(block, lower_case, strip_accents)
        return
    with contextlib.closing(
        map_in_processes(_count_block, blocks, num_workers, lower_case, strip_accents)
    ) as counted:
        yield from counted


def _count_block(block, lower_case, strip_accents):
    """Counts the words of a block of text.

    Args:
      block: Tuple `(text, size)` from `read_blocks`.
      lower_case, strip_accents: bool. As in the tokenizer.

    Returns:
      BlockCounts.
    """
    text, size = block
    text, num_garbled = drop_garbled(text)
    counts = collections.Counter()
    for chunk, count in collections.Counter(chunks(text.decode())).items():
        for word in split_chunk(chunk, lower_case, strip_accents):
            counts[word] += count
    short_words = {
        word: count for word, count in counts.items() if len(word) <= MAX_WORD_CHARACTERS
    }
    return BlockCounts(short_words, size, num_garbled)
