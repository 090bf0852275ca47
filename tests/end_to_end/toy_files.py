"""Files of toy tasks for complete workflows, and functions that read and compare results."""

import json
import pydoc_data.topics
import re

import numpy as np
import tensorflow as tf

from bert_tf.config import BertConfig
from tests.conftest import REFERENCE

VOCABULARY = REFERENCE / "text" / "vocab.txt"
ANSWERS = ("class", "function", "module")


def write_corpus_and_task(folder, sentences_each):
    """Writes train.txt, two of CPython's topics, and task/, sentences labeled with their topic."""
    sentences = [
        re.split(r"(?<=\.)\s+", " ".join(pydoc_data.topics.topics[name].split()))
        for name in ("debugger", "formatstrings")
    ]
    documents = [part[start : start + 9] for part in sentences for start in range(0, len(part), 9)]
    (folder / "train.txt").write_text(
        "\n".join("\n".join(document) + "\n" for document in documents)
    )
    rows = [
        f"{text}\t{label}\n"
        for label, part in enumerate(sentences)
        for text in part[:sentences_each]
    ]
    write_table(folder / "task", train=rows[::2], dev=rows[1::2], test=rows[1::2])


def write_words_task(folder):
    """Writes words/: texts that are labeled with their last word.

    One text is longer than 16 tokens.
    """
    rows = [
        f"{'the ' * (number % 5)}{word}\t{word}\n" for number in range(40) for word in ANSWERS[:2]
    ]
    rows[3] = f"{'the ' * 30}\t{ANSWERS[0]}\n"
    write_table(folder / "words", train=rows, dev=rows[:20], test=rows[:20])


def write_table(folder, **splits):
    """Writes TSV files of text and label."""
    folder.mkdir()
    for name, rows in splits.items():
        (folder / f"{name}.tsv").write_text("text\tlabel\n" + "".join(rows))


def write_config(folder):
    """Writes bert_config.json: one layer with a hidden size of 16, for VOCABULARY."""
    vocab_size = len(VOCABULARY.read_text(encoding="utf-8").splitlines())
    config = BertConfig(
        vocab_size,
        16,
        1,
        2,
        24,
        max_position_embeddings=32,
        type_vocab_size=2,
        hidden_dropout_prob=0.05,
        initializer_range=0.2,
    )
    (folder / "bert_config.json").write_text(config.to_json())


def write_squad(path, is_test=False):
    """Writes 40 questions.

    Every fifth question has no answer, and every fourth context is longer than a window. The answer
    is a word of ANSWERS. Question 6 has a wrong position of the answer, question 7 is long, and the
    context of question 9 contains characters that the tokenizer removes.
    """
    generator = np.random.default_rng(23)
    paragraphs = []
    for number in range(40):
        words = generator.choice(
            ["the", "of", "and", "is"], size=26 if number % 4 == 0 else 9
        ).tolist()
        if number == 9:
            words = ["o\u200bf"] * 9
        question = {
            "id": f"q{number}",
            "question": "is the of and the is a question?" if number == 7 else "the?",
        }
        if not is_test:
            question |= {"answers": [], "is_impossible": number % 5 == 4}
        if number % 5 != 4:
            answer = ANSWERS[number % 3]
            index = generator.integers(len(words))
            words[index] = f"({answer.title()}),"
            start = len(" ".join(words[:index])) + (2 if index else 1)
            if not is_test:
                question["answers"] = [
                    {"text": answer.title(), "answer_start": 0 if number == 6 else start}
                ]
        paragraphs.append({"context": " ".join(words), "qas": [question]})
    path.write_text(
        json.dumps({"version": "v2.0", "data": [{"title": "", "paragraphs": paragraphs}]})
    )


def read_results(path):
    """Reads eval_results.txt: dict of name to float."""
    return {
        name: float(value)
        for name, value in (line.split(" = ") for line in path.read_text().splitlines())
    }


def assert_same_tensors(path, other, prefix=""):
    """Asserts that two checkpoints, or the latest ones of two directories, hold the same bits.

    These are the weights, the optimizer state, and the state of dropout, if their names begin with
    `prefix`.
    """
    tensors = []
    for each in (path, other):
        reader = tf.train.load_checkpoint(str(each))
        tensors.append(
            {
                name: reader.get_tensor(name)
                for name in reader.get_variable_to_shape_map()
                if name.startswith(prefix)
                and not name.startswith(("save_counter", "_CHECKPOINTABLE"))
            }
        )
    assert tensors[0].keys() == tensors[1].keys() != set()
    for name, values in tensors[0].items():
        np.testing.assert_array_equal(values, tensors[1][name], err_msg=name)
