"""Learning tokens from counted words, and adding words to an existing vocabulary."""

import itertools
import random

from data_prep.vocabulary import counts as word_counts
from data_prep.vocabulary import learner
from tests.errors import rejects

SPECIALS = ["[PAD]", "[unused0]", "[unused1]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def make_counts(words):
    characters = {}
    for word, number in words.items():
        for character in word:
            characters[character] = characters.get(character, 0) + number
    return word_counts.WordCounts(words, characters, 0)


def test_a_vocabulary_has_special_tokens_then_characters_then_merges():
    """Pairs by count: "##u" "##g" 15 times, then "h" "##ug" 10, "p" "##ug" 5.

    "-" and "中" never continue.
    """
    counts = make_counts({"hug": 6, "pug": 5, "hugs": 4, "-": 3, "中": 2})
    assert learner.learn_vocabulary(counts, vocab_size=7 + 12 + 3, num_unused=2) == [
        *SPECIALS,
        "-",
        "g",
        "h",
        "p",
        "s",
        "u",
        "中",
        "##g",
        "##h",
        "##p",
        "##s",
        "##u",
        "##ug",
        "hug",
        "pug",
    ]


def test_a_vocabulary_has_exactly_the_requested_size():
    random_state = random.Random(3)
    counts = make_counts(
        {
            "".join(
                random_state.choices("abcdefg", k=random_state.randint(2, 9))
            ): random_state.randint(2, 50)
            for _ in range(300)
        }
    )
    for size in (150, 201, 260):
        learned = learner.learn_vocabulary(counts, size)
        assert len(learned) == len(set(learned)) == size
        assert learned[:2] == ["[PAD]", "[unused0]"]
        assert learned[100:104] == ["[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    with rejects("vocab_size", "the text yields only", "entries with `min_count`=2", value=99999):
        learner.learn_vocabulary(counts, 99999)
    with rejects("vocab_size", "must be at least 118", "104 special entries and 14", value=110):
        learner.learn_vocabulary(counts, 110)


def test_ties_give_the_same_vocabulary_each_time():
    """The learner's hash tables have a new random seed each time."""
    counts = make_counts(
        dict.fromkeys(map("".join, itertools.product("abcdefgh", "ijklmnop", "qrstuvwx")), 2)
    )
    first, *others = (learner.learn_vocabulary(counts, 360) for _ in range(3))
    assert others == [first] * 2


def test_scaled_counts_give_the_same_vocabulary(monkeypatch):
    counts = make_counts({"hug": 6000, "pug": 5000, "hugs": 4000, "bun": 300, "rare": 2})
    expected = learner.learn_vocabulary(counts, vocab_size=7 + 20 + 6, num_unused=2)
    monkeypatch.setattr(learner, "MAX_LEARNED_OCCURRENCES", 1530)
    assert learner.learn_vocabulary(counts, vocab_size=7 + 20 + 6, num_unused=2) == expected


def test_no_token_is_longer_than_the_tokenizer_accepts():
    long = "wxyz" * 16
    longer = "wxyz" * 16 + "w"
    learned = learner.learn_vocabulary(
        make_counts({long: 5, longer: 7}), vocab_size=24, num_unused=2
    )
    assert max(len(entry.removeprefix("##")) for entry in learned) <= 64
    filled = learner.fill_unused(["[PAD]", "[unused0]", "[unused1]"], {longer: 7, long: 5})
    assert filled == ["[PAD]", long, "[unused1]"]


def test_exactly_the_frequent_characters_are_entries():
    counts = make_counts({"abc": 9, "abq": 9, "qz": 1, "ωab": 2, "!": 2, "?": 1})
    learned = learner.learn_vocabulary(counts, vocab_size=7 + 11 + 1, num_unused=2)
    assert {"a", "b", "c", "q", "ω", "##a", "##b", "##c", "##q", "##ω", "!"} <= set(learned)
    assert not {"z", "##z", "?", "##!"} & set(learned)


def test_domain_words_that_save_most_fill_the_unused_slots():
    entries = [
        "[PAD]",
        "[unused0]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        "[unused1]",
        "[unused2]",
        "ab",
        "##c",
        "a",
        "##b",
        "x",
    ]
    words = {"ab": 90, "abc": 5, "abcc": 4, "xb": 2, "xq": 3, "ac": 1, "x": 7}
    # Saved: abcc 4 * 2 tokens; xq, unknown, 3 * 2 characters; abc 5 * 1; xb 2 * 1; ac occurs once.
    assert learner.fill_unused(entries, words) == [
        "[PAD]",
        "abcc",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        "xq",
        "abc",
        *entries[8:],
    ]
    assert learner.fill_unused(entries, words, num_unused=2)[6:8] == ["[unused1]", "[unused2]"]
    assert learner.fill_unused(entries, words, min_count=5) == [
        "[PAD]",
        "abc",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        "[unused1]",
        *entries[7:],
    ]
    with rejects("num_unused", "`initial_vocab` has only 3 [unusedN] entries", value=3):
        learner.fill_unused(entries, words, num_unused=3)
