"""Counting words, learning pieces of them, and adding words to an existing vocabulary."""

import gzip
import random
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

from bert_tf.tokenization import BertTokenizer
from data_prep.vocabulary import counts as word_counts
from data_prep.vocabulary import learner

ROOT = Path(__file__).parents[2]
SPECIALS = ["[PAD]", "[unused0]", "[unused1]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]

WORD_CASES = [  # text, words lower-cased, words as they are
    ("Hello, World!", ["hello", ",", "world", "!"], ["Hello", ",", "World", "!"]),
    ("Café cafe\u0301", ["cafe", "cafe"], ["Café", "cafe\u0301"]),
    ("ab中文c", ["ab", "中", "文", "c"], ["ab", "中", "文", "c"]),
    ("a$b^c d_e", ["a", "$", "b", "^", "c", "d", "_", "e"], ["a", "$", "b", "^", "c", "d", "_", "e"]),
    ("x\x0by\x0cz\x1cw\x85v\x00u\ufffdt", ["xyzwvut"], ["xyzwvut"]),
    ("soft\u00adhyphen zero\u200bwidth", ["softhyphen", "zerowidth"], ["softhyphen", "zerowidth"]),
    ("a\u00a0b\u2003c\u2028d\u3000e\tf\rg", list("abcdefg"), list("abcdefg")),
    ("ΟΔΟΣ ΣΟΦΟΣ.", ["οδος", "σοφος", "."], ["ΟΔΟΣ", "ΣΟΦΟΣ", "."]),
    ("İstanbul", ["istanbul"], ["İstanbul"]),
    ("½ … ﬁ x²", ["½", "…", "ﬁ", "x²"], ["½", "…", "ﬁ", "x²"]),
    ("a\u037eb \u1fef", ["a", ";", "b", "`"], ["a", "\u037e", "b", "\u1fef"]),
    ("[MASK]", ["[", "mask", "]"], ["[", "MASK", "]"]),
    ("한국어 ガス", [unicodedata.normalize("NFD", "한국어"), "カス"], ["한국어", "ガス"]),
    (" \n\u200b ", [], []),
]


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return str(path)


def count(path, **settings):
    return word_counts.count_words([str(path)], lower_case=True, num_workers=1, **settings)


def counts_of(words):
    characters = {}
    for word, number in words.items():
        for character in word:
            characters[character] = characters.get(character, 0) + number
    return word_counts.WordCounts(words, characters, 0)


@pytest.mark.parametrize(("text", "lower_cased", "as_it_is"), WORD_CASES)
def test_words_follow_the_rules_of_the_original(text, lower_cased, as_it_is):
    assert word_counts.words_of_text(text, lower_case=True) == lower_cased
    assert word_counts.words_of_text(text, lower_case=False) == as_it_is


@pytest.mark.parametrize("lower_case", [True, False])
def test_words_are_those_of_the_tokenizer(tmp_path, lower_case):
    """With every word of the text as an entry, the tokenizer must give exactly the counted words."""
    draw = random.Random(20181011)
    alphabet = [chr(code) for code in [*range(0x20, 0x250), *range(0x300, 0x340), *range(0x370, 0x600),
                                       *range(0x1E00, 0x2060), *range(0x3000, 0x3100), *range(0x4E00, 0x4E20),
                                       *range(0xAC00, 0xAC40), *range(0xF900, 0xF940), 0xFFFD, 0x1F600, 0x20001]]
    lines = ["".join(draw.choice([*draw.sample(alphabet, 5), " "]) for _ in range(draw.randint(1, 30)))
             for _ in range(701)]
    expected = [word_counts.words_of_text(line, lower_case) for line in lines]
    entries = dict.fromkeys(word for words in expected for word in words)
    vocab_file = write(tmp_path / "vocab.txt", "\n".join([*SPECIALS, *entries]) + "\n")
    tokenizer = BertTokenizer(vocab_file, lower_case=lower_case)
    pieces = tokenizer.convert_ids_to_tokens(tokenizer.tokenize(lines)).to_list()
    differing = [(line, words) for line, words, found in zip(lines, expected, pieces, strict=True)
                 if words != [piece.decode() for piece in found]]
    assert differing == []


def test_counts_words_and_characters_but_not_words_that_are_always_unknown(tmp_path):
    longest, too_long = "y" * 200, "z" * 201
    path = write(tmp_path / "text.txt", f"The cat, the CAT!\nthe end {longest} {too_long}\n")
    counts = count(path)
    assert counts.words == {"the": 3, "cat": 2, ",": 1, "!": 1, "end": 1, longest: 1}
    assert counts.characters == {"t": 5, "h": 3, "e": 4, "c": 2, "a": 2, ",": 1, "!": 1, "n": 1, "d": 1, "y": 200}
    assert counts.forgotten == 0


def test_the_count_depends_on_neither_blocks_nor_workers_nor_compression(tmp_path, monkeypatch):
    draw = random.Random(7)
    text = "\n".join(" ".join(draw.choices(["alpha", "Beta,", "中文", "ğ", "(x)"], k=9)) for _ in range(211))
    plain, packed = tmp_path / "a.txt", tmp_path / "b.txt.gz"
    whole = count(write(plain, text))
    packed.write_bytes(gzip.compress(text.encode()))
    monkeypatch.setattr(word_counts, "BLOCK_BYTES", 101)
    assert count(plain) == whole
    assert count(packed) == whole
    in_two = word_counts.count_words([str(plain)], lower_case=True, num_workers=2)
    assert in_two == whole
    assert list(in_two.words) == list(whole.words)


def test_a_word_is_not_cut_where_a_block_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(word_counts, "BLOCK_BYTES", 7)
    text = "supercalifragilistic short 中国語 " + "w" * 40
    assert count(write(tmp_path / "t", text)).words == dict.fromkeys(word_counts.words_of_text(text, True), 1)


def test_the_rarest_words_are_forgotten_beyond_the_limit(tmp_path):
    path = write(tmp_path / "t", "common common common twice twice a1 b1 c1\n")
    counts = count(path, max_distinct_words=3)
    assert counts.words == {"common": 3}
    assert counts.forgotten == 5
    assert counts.characters["1"] == 3


def test_bytes_that_are_not_utf8_are_named_by_file_and_line(tmp_path):
    path = tmp_path / "latin1.txt"
    path.write_bytes("fine\nalso fine\ncafé\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"latin1\.txt:3: byte 0xe9 is not UTF-8"):
        count(path)


@pytest.mark.parametrize("damage", ["truncated", "not gzip"])
def test_a_damaged_gz_is_named(tmp_path, damage):
    path = tmp_path / "x.txt.gz"
    packed = gzip.compress(b"some words " * 50)
    path.write_bytes(packed[:-12] if damage == "truncated" else b"plain text")
    with pytest.raises(ValueError, match=r"x\.txt\.gz: .*damaged"):
        count(path)


def test_the_vocabulary_has_specials_then_characters_then_merges():
    """Pairs by count: "##u" "##g" 15 times, then "h" "##ug" 10, "p" "##ug" 5; "-" and "中" never continue."""
    counts = counts_of({"hug": 6, "pug": 5, "hugs": 4, "-": 3, "中": 2})
    learned = learner.learn_vocabulary(counts, vocab_size=7 + 12 + 3, num_unused=2)
    assert learned == [*SPECIALS, "-", "g", "h", "p", "s", "u", "中", "##g", "##h", "##p", "##s", "##u",
                       "##ug", "hug", "pug"]


def test_exactly_the_size_that_was_asked_for_or_an_error():
    draw = random.Random(3)
    counts = counts_of({"".join(draw.choices("abcdefg", k=draw.randint(2, 9))): draw.randint(2, 50)
                        for _ in range(300)})
    for size in (150, 201, 260):
        learned = learner.learn_vocabulary(counts, size)
        assert len(learned) == len(set(learned)) == size
        assert learned[:2] == ["[PAD]", "[unused0]"]
        assert learned[100:104] == ["[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    with pytest.raises(ValueError, match=r"`vocab_size`=99999: the text gives only \d+ entries"):
        learner.learn_vocabulary(counts, 99999)
    with pytest.raises(ValueError, match=r"`vocab_size`=110: 104 special entries and 14 .* need 118"):
        learner.learn_vocabulary(counts, 110)


def test_counts_of_much_text_are_divided_and_give_the_same_pieces(monkeypatch):
    counts = counts_of({"hug": 6000, "pug": 5000, "hugs": 4000, "bun": 300, "rare": 2})
    expected = learner.learn_vocabulary(counts, vocab_size=7 + 20 + 6, num_unused=2)
    monkeypatch.setattr(learner, "MAX_LEARNED_OCCURRENCES", 1530)
    assert learner.learn_vocabulary(counts, vocab_size=7 + 20 + 6, num_unused=2) == expected


def test_no_piece_is_longer_than_the_tokenizer_takes():
    long, longer = "wxyz" * 16, "wxyz" * 16 + "w"
    learned = learner.learn_vocabulary(counts_of({long: 5, longer: 7}), vocab_size=24, num_unused=2)
    assert max(len(entry.removeprefix("##")) for entry in learned) <= 64
    filled = learner.fill_unused(["[PAD]", "[unused0]", "[unused1]"], {longer: 7, long: 5})
    assert filled == ["[PAD]", long, "[unused1]"]


def test_every_character_above_the_threshold_is_an_entry_and_no_other():
    counts = counts_of({"abc": 9, "abq": 9, "qz": 1, "ωab": 2, "!": 2, "?": 1})
    learned = learner.learn_vocabulary(counts, vocab_size=7 + 11 + 1, num_unused=2)
    assert {"a", "b", "c", "q", "ω", "##a", "##b", "##c", "##q", "##ω", "!"} <= set(learned)
    assert not {"z", "##z", "?", "##!"} & set(learned)


def test_the_same_counts_give_the_same_vocabulary_in_another_process(tmp_path):
    """The learner's hash tables are seeded anew in each process, and ties are many here."""
    words = [first + middle + last for first in "abcdefgh" for middle in "ijklmnop" for last in "qrstuvwx"]
    path = write(tmp_path / "text.txt", " ".join(words * 2))
    outputs = []
    for attempt in ("1", "2", "3"):
        output = tmp_path / f"vocab{attempt}.txt"
        run_script(input_file=path, vocab_file=output, vocab_size=360, check=True)
        outputs.append(output.read_bytes())
    assert outputs[0] == outputs[1] == outputs[2]


def test_domain_words_fill_the_unused_slots_that_save_most():
    entries = ["[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[unused1]", "[unused2]", "ab", "##c",
               "a", "##b", "x"]
    words = {"ab": 90, "abc": 5, "abcc": 4, "xb": 2, "xq": 3, "ac": 1, "x": 7}
    # Saved: abcc 4 * 2 pieces; xq, unknown, 3 * 2 characters; abc 5 * 1; xb 2 * 1; ac occurs once.
    filled = learner.fill_unused(entries, words)
    assert [new for new, old in zip(filled, entries, strict=True) if new != old] == ["abcc", "xq", "abc"]
    assert [filled.index(word) for word in ("abcc", "xq", "abc")] == [1, 6, 7]
    assert learner.fill_unused(entries, words, num_unused=2)[6:8] == ["[unused1]", "[unused2]"]
    assert learner.fill_unused(entries, words, min_count=5) == [
        "[PAD]", "abc", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[unused1]", *entries[7:]]
    with pytest.raises(ValueError, match=r"`num_unused`=3: `initial_vocab` has 3 \[unusedN\] entries"):
        learner.fill_unused(entries, words, num_unused=3)


def run_script(check=False, **flags):
    arguments = [f"--{flag}={value}" for flag, value in flags.items()]
    return subprocess.run([sys.executable, "-m", "data_prep.learn_vocab", *arguments], cwd=ROOT, check=check,
                          capture_output=True, text=True)


def test_the_script_learns_and_then_adds(tmp_path):
    text = "the quick brown fox jumps over the lazy dog and the quick red fox\n" * 4
    (tmp_path / "corpus.txt.gz").write_bytes(gzip.compress(text.encode()))
    vocab_file, extended = tmp_path / "vocab.txt", tmp_path / "extended.txt"
    first = run_script(input_file=f"{tmp_path}/*.gz", vocab_file=vocab_file, vocab_size=162, num_unused=99)
    assert first.returncode == 0, first.stderr
    assert "162 entries; 56 words, 10 distinct; " in first.stdout
    entries = vocab_file.read_text().splitlines()
    assert len(entries) == 162
    assert entries[100] == "[UNK]"

    domain = write(tmp_path / "domain.txt", "qubit qubit qubit fermion fermion")
    second = run_script(input_file=domain, vocab_file=extended, initial_vocab=vocab_file)
    assert second.returncode == 0, second.stderr
    added = extended.read_text().splitlines()
    assert sorted(set(added) - set(entries)) == ["fermion", "qubit"]
    assert added[100:] == entries[100:]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus.txt.gz", "domain.txt", "extended.txt",
                                                                 "vocab.txt"]


@pytest.mark.parametrize(("flags", "message"), [
    ({}, "--input_file is needed"),
    ({"input_file": "{folder}/no.txt", "vocab_file": "{folder}/v"}, "--input_file={folder}/no.txt: no such"),
    ({"input_file": "{folder}/t.txt"}, "--vocab_file is needed"),
    ({"input_file": "{folder}/t.txt", "vocab_file": "{folder}/t.txt"}, "is one of the files of --input_file"),
    ({"input_file": "{folder}/t.txt", "vocab_file": "{folder}/no/v"}, "a file in a folder that exists is needed"),
    ({"input_file": "{folder}/empty.txt", "vocab_file": "{folder}/v"}, "there are no words in it"),
    ({"input_file": "{folder}/t.txt", "vocab_file": "{folder}/v", "vocab_size": "0"}, "vocab_size"),
    ({"input_file": "{folder}/t.txt", "vocab_file": "{folder}/v", "initial_vocab": "{folder}/no"},
     "--initial_vocab={folder}/no: no such file"),
])
def test_a_mistake_ends_with_one_line_and_status_1(tmp_path, flags, message):
    write(tmp_path / "t.txt", "some words")
    write(tmp_path / "empty.txt", "\n \n")
    result = run_script(**{flag: value.format(folder=tmp_path) for flag, value in flags.items()})
    assert result.returncode == 1
    last_line = result.stderr.strip().splitlines()[-1]
    assert message.format(folder=tmp_path) in last_line
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "v").exists()
