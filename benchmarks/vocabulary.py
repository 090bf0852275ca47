"""Vocabulary learning with Hugging Face's tokenizers, as used here, compared with TensorFlow Text.

    python -m benchmarks.vocabulary [--input_file=text.txt] --vocab_sizes=4000,8000

The peer is TensorFlow Text's WordPiece learner. Both learn from the same word counts, of the first
nine tenths of the lines. The last tenth gives the tokens per word.
"""

import collections
import dataclasses
import functools

from tensorflow_text.tools.wordpiece_vocab import wordpiece_tokenizer_learner_lib

from benchmarks import measurements, texts
from benchmarks.measurements import Results, time_turns
from bert_tf.cli import roles, script
from bert_tf.cli.settings import setting
from bert_tf.tokenization.plain import split_text
from data_prep.vocabulary import counts, learner

OURS = "this project"
PEER = "tf-text's WordPiece learner"
SPECIAL_ENTRIES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


@dataclasses.dataclass(frozen=True)
class VocabularySettings(measurements.BenchmarkSettings):
    """Settings for the text and the vocabularies."""

    input_file: str | None = setting(
        None,
        "Text file in UTF-8. Defaults to CPython's documentation topics.",
        role=roles.INPUT_FILE,
    )
    vocab_sizes: tuple[int, ...] = setting((4000,), "Vocabulary sizes to learn.", min_value=1)


COMMAND = script.Command(VocabularySettings(), __name__)


def run(settings):
    """Learns the vocabularies; settings: VocabularySettings."""
    lines = texts.read_lines(settings.input_file)
    end = len(lines) * 9 // 10
    training, held_out = (
        collections.Counter(split_text("\n".join(part), lower_case=True))
        for part in (lines[:end], lines[end:])
    )
    with Results("vocabulary", settings) as results:
        for size in settings.vocab_sizes:
            learners = {
                OURS: functools.partial(learn, training, size),
                PEER: functools.partial(
                    wordpiece_tokenizer_learner_lib.learn,
                    training,
                    size,
                    SPECIAL_ENTRIES,
                    lower_thresh=2,
                    slack_ratio=0,
                ),
            }
            times = time_turns(learners, settings.rounds)
            for name, learn_vocabulary in learners.items():
                print_coverage(f"{name}, {size:,} requested", learn_vocabulary(), held_out)
            results.add(
                f"Learning {size:,} vocabulary entries", times[OURS], {PEER: times[PEER]}, "s"
            )


def learn(words, vocab_size):
    """Learns a vocabulary like data_prep.learn_vocab; words: Counter."""
    characters = collections.Counter()
    for word, count in words.items():
        for character in word:
            characters[character] += count
    return learner.learn_vocabulary(
        counts.WordCounts(words, characters, 0), vocab_size, num_unused=0
    )


def print_coverage(name, entries, words):
    """Prints the tokens per word and the fraction of [UNK] of a vocabulary.

    Args:
      name: str. Name of the vocabulary.
      entries: List of str.
      words: Counter of held-out words.
    """
    known = set(entries)
    lengths = {word: learner.count_word_tokens(word, known) for word in words}  # 0 for [UNK].
    num_words = sum(words.values())
    num_tokens = sum(count * max(lengths[word], 1) for word, count in words.items())
    num_unknown = sum(count for word, count in words.items() if not lengths[word])
    print(
        f"{name}: {len(entries):,} entries; {num_tokens / num_words:.4f} tokens per word, "
        f"{num_unknown / num_words:.2%} [UNK]",
        flush=True,
    )


if __name__ == "__main__":
    COMMAND.run()
