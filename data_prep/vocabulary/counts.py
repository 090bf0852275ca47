"""How often each word and each character occurs in text files, as the tokenizer cuts text into words.

The rules are those of bert_tf.tokenization.words, in plain Python, which run once for each distinct string between
spaces and not for each of its occurrences, in worker processes that need no TensorFlow.
"""

import collections
import contextlib
import dataclasses
import functools
import gzip
import os
import zlib

from tqdm import tqdm

from bert_tf import files
from bert_tf.errors import InputError
from bert_tf.tokenization.words import MAX_WORD_CHARACTERS, chunks, words_of_chunk
from data_prep.machine import processes

BLOCK_BYTES = 4 << 20
MAX_WORD_BYTES = 1 << 26  # without a space or a line end, which must be in memory together


@dataclasses.dataclass(frozen=True)
class WordCounts:
    """What `count_words` found.

    Attributes:
      words: dict from word to number of occurrences; words of over MAX_WORD_CHARACTERS are not in it.
      characters: dict from character to number of occurrences in words of up to MAX_WORD_CHARACTERS.
      dropped: number of occurrences of words that were dropped from `words` to stay within the limit of
        distinct words; `characters` has theirs.
      num_garbled: lines of which bytes that are not UTF-8 were dropped.
    """

    words: dict
    characters: dict
    dropped: int
    num_garbled: int = 0


def count_words(paths, lower_case, num_workers=None, max_distinct_words=5_000_000, show_progress=False):
    """Counts the words and characters of text files.

    Memory is bounded by `max_distinct_words` (some 150 bytes each) and by the blocks in flight, not by the
    size of the text. Where distinct words exceed the limit, the rarest are dropped until half the limit remain
    (so that this is seldom needed); of equally rare words those seen first are kept. The result depends on the
    files and their order, not on the number of workers.

    Args:
      paths: list of UTF-8 text files; a name that ends in .gz is decompressed.
      lower_case: whether to lower-case and strip accents, as for an uncased model.
      num_workers: number of processes; None for one a core.
      max_distinct_words: limit of distinct words held in memory.
      show_progress: whether to draw a progress bar on standard error.

    Returns:
      WordCounts.

    Raises:
      InputError: naming the file, where a .gz is damaged.
    """
    words, characters, dropped, num_garbled = collections.Counter(), collections.Counter(), 0, 0
    progress = tqdm(total=sum(map(files.size, paths)), desc="counting words", unit="B", unit_scale=True,
                    disable=not show_progress)
    with progress:
        for block_words, compressed_size, garbled in _count_blocks(paths, lower_case, num_workers):
            for word, count in block_words.items():
                for character in word:
                    characters[character] += count
            words.update(block_words)
            dropped += _drop_rarest(words, max_distinct_words)
            num_garbled += garbled
            progress.update(compressed_size)
    return WordCounts(dict(words), dict(characters), dropped, num_garbled)


def _drop_rarest(words, limit):
    """Where there are over `limit` words, drops the rarest in place, of equals the last seen, until half of it remain.

    `words`: dict from word to number of occurrences, in the order of first occurrence. Returns the occurrences dropped.
    """
    if len(words) <= limit:
        return 0
    by_count = sorted(words, key=words.get, reverse=True)  # stable: equals stay in their order
    return sum(words.pop(word) for word in by_count[limit // 2:])


def _count_blocks(paths, lower_case, num_workers):
    """Yields (words of a block, bytes of the file read for it, garbled lines in it) in the order of the text."""
    num_workers = num_workers or os.cpu_count()
    count = functools.partial(_count_block, lower_case=lower_case)
    blocks = _read_blocks(paths)
    if num_workers == 1 or sum(map(files.size, paths)) <= BLOCK_BYTES:
        for block in blocks:
            yield count(block)
        return
    with contextlib.closing(processes.map_in_processes(count, blocks, num_workers)) as counted:
        yield from counted


@dataclasses.dataclass(frozen=True)
class _Block:
    """Some bytes of a file that end where a word ends.

    Attributes:
      text: the bytes, decompressed.
      path: the file.
      line: the number of the line in which the block begins, from 1.
      size_in_file: bytes of the file that were read for them, compressed where the file is.
    """

    text: bytes
    path: str
    line: int
    size_in_file: int


def _read_blocks(paths):
    for path in paths:
        with files.open_bytes(path) as file, _decompressed(file) as stream:
            yield from _blocks_of_stream(stream, file, path)


def _decompressed(file):
    return gzip.GzipFile(fileobj=file) if file.name.endswith(".gz") else contextlib.nullcontext(file)


def _blocks_of_stream(stream, file, path):
    line, position, rest = 1, 0, b""
    while True:
        try:
            fresh = stream.read(BLOCK_BYTES)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise InputError(f"{path}: not a gzip file, or one that is damaged: {error}") from error
        # No word extends over a space or the end of a line, and neither byte occurs inside a UTF-8 character.
        end = max(fresh.rfind(b"\n"), fresh.rfind(b" ")) + 1 if fresh else 0
        if fresh and not end:
            rest += fresh
            if len(rest) > MAX_WORD_BYTES:
                raise InputError(f"{path}: has no space or line end in {len(rest):,} bytes: is it text?")
            continue
        text, rest = rest + fresh[:end], fresh[end:]
        if text:
            yield _Block(text, path, line, file.tell() - position)
            line, position = line + text.count(b"\n"), file.tell()
        if not fresh:
            return


def _count_block(block, lower_case):
    """Words of a block, dict from word to occurrences in the order of first occurrence; size_in_file; garbled lines."""
    decoder = files.LineDecoder()
    text = decoder(block.text)
    if decoder.num_garbled:
        decoder = files.LineDecoder()
        text = "\n".join(map(decoder, block.text.split(b"\n")))
    counts = collections.Counter()
    for chunk, count in collections.Counter(chunks(text)).items():
        for word in words_of_chunk(chunk, lower_case, lower_case):
            counts[word] += count
    kept = {word: count for word, count in counts.items() if len(word) <= MAX_WORD_CHARACTERS}
    return kept, block.size_in_file, decoder.num_garbled
