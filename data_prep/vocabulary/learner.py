"""WordPiece vocabularies, learned from counted words or extended with the words of a domain."""

import itertools
import sys

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from bert_tf.errors import InputError
from bert_tf.tokenization.unicode_rules import is_cjk, is_punctuation

BEFORE_UNUSED = ["[PAD]"]
AFTER_UNUSED = ["[UNK]", "[CLS]", "[SEP]", "[MASK]"]

# Further, rarer words hardly influence the merges, while the learner's memory grows by about 0.5 kB
# per word.
MAX_LEARNED_WORDS = 1_000_000

# The counts of texts with more words are scaled down to this sum. The learner reads each
# occurrence, which would otherwise take longer than learning.
MAX_LEARNED_OCCURRENCES = 20_000_000

# TensorFlow Text's WordPiece kernel accepts entries of up to 256 bytes, and a character can have
# four.
MAX_TOKEN_CHARACTERS = 64

REPEATS = 512  # Maximum occurrences of a word in one string passed to the learner.


def learn_vocabulary(counts, vocab_size, min_count=2, num_unused=99, show_progress=False):
    """Learns a vocabulary of exactly `vocab_size` entries.

    The order of the entries is: [PAD], [unused0] to [unused<num_unused - 1>], [UNK], [CLS], [SEP],
    [MASK]; characters; characters as continuations ("##e"); tokens in the order of their merges.
    Each frequent character is an entry. It is also a continuation entry unless the tokenizer always
    splits it off as a separate word (punctuation, Chinese). So a word of such characters is never
    [UNK].

    Args:
      counts: WordCounts of the text.
      vocab_size: int. Number of entries.
      min_count: int. Minimum number of occurrences of the words, tokens, and characters to include.
      num_unused: int. Number of [unusedN] entries.
      show_progress: bool. Whether the learner shows a progress bar on standard error.

    Returns:
      List of `vocab_size` distinct str.

    Raises:
      InputError: If the characters do not fit into `vocab_size`, or if the text is too small for
        it.
    """
    specials = [
        *BEFORE_UNUSED,
        *(f"[unused{number}]" for number in range(num_unused)),
        *AFTER_UNUSED,
    ]
    characters = _find_character_entries(counts.characters, min_count)
    smallest = len(specials) + len(characters)
    if vocab_size < smallest:
        raise InputError(
            f"must be at least {smallest}, for {len(specials)} special entries and "
            f"{len(characters)} entries for the characters of the text; increase it or "
            "`min_count`",
            "vocab_size",
            vocab_size,
        )
    tokens = _merge_tokens(
        counts.words, characters, vocab_size - len(specials), min_count, show_progress
    )
    num_entries = len(specials) + len(tokens)
    if num_entries < vocab_size:
        raise InputError(
            f"the text yields only {num_entries} entries with `min_count`={min_count}; decrease "
            "either, or add text",
            "vocab_size",
            vocab_size,
        )
    return specials + tokens


def fill_unused(vocabulary, words, min_count=2, num_unused=0):
    """Replaces [unusedN] entries of a vocabulary with words of a domain.

    All other entries keep their IDs.

    Selects the words that shorten the text most: occurrences times tokens saved. A word that would
    be [UNK] counts as one token per character. Fills the slots in ascending order.

    Args:
      vocabulary: List of str.
      words: Dict of word to number of occurrences.
      min_count: int. Minimum number of occurrences of the words to add.
      num_unused: int. Number of [unusedN] slots to leave free.

    Returns:
      List of str, as long as `vocabulary`.

    Raises:
      InputError: If the vocabulary has at most `num_unused` such slots.
    """
    slots = [
        index
        for index, entry in enumerate(vocabulary)
        if entry.startswith("[unused") and entry.endswith("]")
    ]
    if len(slots) <= num_unused:
        raise InputError(
            f"`initial_vocab` has only {len(slots)} [unusedN] entries, so none remain to replace",
            "num_unused",
            num_unused,
        )
    known = set(vocabulary)
    savings = {}
    for word, count in words.items():
        if count >= min_count and word not in known and len(word) <= MAX_TOKEN_CHARACTERS:
            savings[word] = count * ((count_word_tokens(word, known) or len(word) + 1) - 1)
    chosen = sorted(savings, key=lambda word: (-savings[word], word))[: len(slots) - num_unused]
    filled = list(vocabulary)
    for slot, word in zip(slots, chosen, strict=False):
        filled[slot] = word
    return filled


def count_word_tokens(word, vocabulary):
    """Counts the tokens of a word with longest match first, 0 if it is [UNK].

    Args:
      word: str.
      vocabulary: Set of str.
    """
    start = 0
    num_tokens = 0
    while start < len(word):
        end = len(word)
        prefix = "##" if start else ""
        while end > start and prefix + word[start:end] not in vocabulary:
            end -= 1
        if end == start:
            return 0
        start = end
        num_tokens += 1
    return num_tokens


def describe_vocabulary(vocabulary, words):
    """Returns a one-line summary of a vocabulary: tokens per counted word and fraction of [UNK]."""
    known = set(vocabulary)
    total = unknown = total_tokens = 0
    for word, count in words.items():
        num_tokens = count_word_tokens(word, known)
        total += count
        total_tokens += count * (num_tokens or 1)
        unknown += 0 if num_tokens else count
    return (
        f"{len(vocabulary):,} entries; {total:,} words, {len(words):,} distinct; "
        f"{total_tokens / total:.3f} tokens per word, {unknown / total:.3%} [UNK]"
    )


def _find_character_entries(characters, min_count):
    frequent = sorted(character for character, count in characters.items() if count >= min_count)
    return frequent + [
        f"##{character}"
        for character in frequent
        if not is_punctuation(character) and not is_cjk(character)
    ]


def _merge_tokens(words, characters, num_tokens, min_count, show_progress):
    """Returns `characters` and the tokens merged from them.

    They are `num_tokens` in total, or as many as the words yield.

    The library's own WordPiece trainer numbers the continuations ("##e") in hash table order, which
    differs from run to run, and breaks ties by these numbers. So this function writes each entry
    of `characters` as one code point and learns plain byte-pair encoding, which sorts its alphabet.
    """
    entry_of_symbol = dict(zip(_create_symbols(len(characters)), characters, strict=True))
    learned_words = _select_words(words, set(characters), min_count)
    scale = max(1, sum(learned_words.values()) / MAX_LEARNED_OCCURRENCES)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.BpeTrainer(
        vocab_size=num_tokens,
        min_frequency=max(1, round(min_count / scale)),
        max_token_length=MAX_TOKEN_CHARACTERS,
        show_progress=show_progress,
        initial_alphabet=list(entry_of_symbol),
    )
    tokenizer.train_from_iterator(_to_symbols(learned_words, entry_of_symbol, scale), trainer)
    learned = tokenizer.get_vocab()
    tokens = []
    for symbols in sorted(learned, key=learned.get):
        first, *others = (entry_of_symbol[symbol] for symbol in symbols)
        tokens.append(first + "".join(other.removeprefix("##") for other in others))
    return tokens


def _split_word(word):
    return [word[0], *(f"##{character}" for character in word[1:])]


def _select_words(words, characters, min_count):
    """Returns the most frequent words and their counts, a dict.

    Excludes words that a rare character makes [UNK] in any case.
    """
    frequent = [
        word
        for word, count in words.items()
        if count >= min_count and characters.issuperset(_split_word(word))
    ]
    frequent.sort(key=lambda word: (-words[word], word))
    return {word: words[word] for word in frequent[:MAX_LEARNED_WORDS]}


def _create_symbols(number):
    """Returns `number` code points in increasing order, without white space and surrogates."""
    symbols = (chr(code) for code in range(0x21, sys.maxunicode) if not 0xD800 <= code < 0xE000)
    return list(itertools.islice((symbol for symbol in symbols if not symbol.isspace()), number))


def _to_symbols(words, entry_of_symbol, scale):
    """Yields texts with each word once per occurrence, divided by `scale`.

    The characters of words are converted to the learner's symbols.
    """
    symbol_of_entry = {entry: symbol for symbol, entry in entry_of_symbol.items()}
    for word, count in words.items():
        symbols = "".join(map(symbol_of_entry.get, _split_word(word))) + " "
        num_blocks, rest = divmod(round(count / scale), REPEATS)
        yield from [symbols * REPEATS] * num_blocks
        yield symbols * rest
