"""Toy data, a vocabulary, and configs from fixed seeds, which the guarded commands read.

This module does not import the project, since internals may differ between two compared trees.
"""

import json
import random
import string

WORDS = """
the dog fox cat bird line word rome genoa mary hunt jump ##ed ##ing stop see run read over under
quick brown lazy old new in at of and to it was is on for he she they who what where when . , ? ! -
"""
VOCABULARY = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    *WORDS.split(),
    *string.ascii_lowercase,
    *(f"##{letter}" for letter in string.ascii_lowercase),
]
SPOKEN = [
    *(word for word in WORDS.split() if word.isalpha()),
    *("stops", "jumped", "reading", "runs", "owls", "zed"),
]
CONFIG = {
    "vocab_size": len(VOCABULARY),
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 44,
    "max_position_embeddings": 40,
    "type_vocab_size": 2,
    "initializer_range": 0.1,
}
CONFIGS = {
    "config.json": {},
    "narrow.json": {"hidden_size": 24, "intermediate_size": 28},
    "deep.json": {"num_hidden_layers": 3},
    "shared.json": {"embedding_size": 12, "num_hidden_groups": 1},
}
EXAMPLES = 12  # of each training set: three steps of 4


def write(folder):
    """Writes all files into a pathlib.Path.

    These are config.json, vocab.txt, own/, sst-2/, *.txt, *.json, and *.csv.
    """
    rng = random.Random(1)
    (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece in VOCABULARY))
    for name, changes in CONFIGS.items():
        (folder / name).write_text(json.dumps({**CONFIG, **changes}))
    write_tables(folder, rng)
    write_words(folder, rng)
    write_questions(folder, rng)
    write_choices(folder, rng)
    (folder / "corpus.txt").write_text(
        "\n".join(
            "".join(f"{sentence(rng, 12)} .\n" for _ in range(rng.randint(4, 9))) for _ in range(12)
        )
    )


def sentence(rng, max_words, min_words=2):
    return " ".join(rng.choices(SPOKEN, k=rng.randint(min_words, max_words)))


def write_tables(folder, rng):
    """Writes a published task, a custom dataset with each kind of label, and unlabeled texts."""
    for name in ("sst-2", "own"):
        (folder / name).mkdir()
    for split in ("train", "dev"):
        rows = [
            (
                sentence(rng, 14),
                sentence(rng, 9),
                number % 3,
                round(rng.uniform(0, 5), 2),
                "|".join(sorted(rng.sample(["red", "blue", "green"], rng.randint(1, 3)))),
            )
            for number in range(EXAMPLES)
        ]
        (folder / "sst-2" / f"{split}.tsv").write_text(
            "sentence\tlabel\n" + "".join(f"{text}\t{label % 2}\n" for text, _, label, _, _ in rows)
        )
        (folder / "own" / f"{split}.tsv").write_text(
            "text\tsecond\tlabel\tnumber\tlabels\n"
            + "".join("\t".join(map(str, row)) + "\n" for row in rows)
        )
    (folder / "texts.txt").write_text("".join(f"{sentence(rng, 14)}\n" for _ in range(EXAMPLES)))


def write_words(folder, rng):
    """Writes documents of sentences with one word and its label per line."""
    kinds = {"rome": "B-PLACE", "genoa": "B-PLACE", "mary": "B-PER", "hunt": "I-PER"}
    for split in ("train", "dev"):
        sentences = [
            "".join(f"{word} {kinds.get(word, 'O')}\n" for word in sentence(rng, 12).split())
            for _ in range(EXAMPLES)
        ]
        sentences[0] = "mary B-PER\nhunt I-PER\nin O\nrome B-PLACE\n"
        starts = ("-DOCSTART- O\n\n" if number % 4 == 0 else "" for number in range(EXAMPLES))
        (folder / f"{split}.txt").write_text(
            "\n".join(map("".join, zip(starts, sentences, strict=True)))
        )


def write_choices(folder, rng):
    """Writes a file of SWAG with four endings per row."""
    rows = ["sent1,sent2,ending0,ending1,ending2,ending3,label\n"]
    for number in range(EXAMPLES):
        context = sentence(rng, 5)
        start = rng.choice(SPOKEN)
        endings = [sentence(rng, 4) for _ in range(4)]
        rows.append(f"{','.join([context, start, *endings])},{number % 4}\n")
    (folder / "choices.csv").write_text("".join(rows))


def write_questions(folder, rng):
    """Writes SQuAD files with long contexts.

    In the second file, every third question has no answer.
    """
    for name, every in (("squad_v1.json", 0), ("squad_v2.json", 3)):
        paragraphs = []
        for number in range(EXAMPLES):
            context = sentence(rng, 40, 20)
            words = context.split()
            index = rng.randrange(len(words) - 1)
            answer = " ".join(words[index : index + 2])
            start = len(" ".join(words[:index])) + (index > 0)
            impossible = every > 0 and number % every == 0
            question = {
                "id": str(number),
                "question": f"{sentence(rng, 4)} ?",
                "answers": [] if impossible else [{"text": answer, "answer_start": start}],
            }
            if every:
                question["is_impossible"] = impossible
            paragraphs.append({"context": context, "qas": [question]})
        (folder / name).write_text(
            json.dumps({"version": "2.0", "data": [{"title": "t", "paragraphs": paragraphs}]})
        )
