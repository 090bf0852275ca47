"""The settings of learn_vocab."""

import dataclasses

from bert_tf.cli import places
from bert_tf.cli.settings import Settings, setting

DEFAULT_VOCAB_SIZE = 30522  # The original BERT-Base, Uncased.
DEFAULT_NUM_UNUSED = 99  # The original vocabularies have 99 before [UNK], so [UNK] has ID 100.
MOST_ENTRIES = 10_000_000  # The largest published vocabularies have half a million entries.


@dataclasses.dataclass(frozen=True)
class VocabularySettings(Settings):
    """Settings for learning a vocabulary.

    Raises:
      InputError: On construction. The message names the field, its value, and valid values.
    """

    input_file: str | None = setting(
        None, "Text files, UTF-8: comma-separated names or globs; .gz is decompressed.", required=True,
        place=places.INPUT_FILES)
    vocab_file: str | None = setting(None, "The vocabulary to write, one entry a line.", required=True,
                                      place=places.OUTPUT_FILE)
    vocab_size: int | None = setting(
        None, f"Number of entries; the model's vocab_size must be the same. {DEFAULT_VOCAB_SIZE} unless given; with "
              "`initial_vocab`, the size of that one.", lower=1, most=MOST_ENTRIES)
    do_lower_case: bool = setting(
        True, "Whether to lower-case and strip accents; all later steps must do the same.")
    min_count: int = setting(2, "Words and pieces that occur less often are not learned.", lower=1)
    min_character_count: int | None = setting(
        None, "Characters that occur less often get no entry, and words with them are [UNK]; `min_count` unless given.",
        lower=1, not_with="initial_vocab")
    num_unused: int | None = setting(
        None, f"Number of [unusedN] entries, room for later words; {DEFAULT_NUM_UNUSED} unless given. With "
              "`initial_vocab`, how many of its own to leave free; 0 unless given.", lower=0,
        most=MOST_ENTRIES)
    initial_vocab: str | None = setting(
        None, "An existing vocabulary: words of the text replace its [unusedN] entries, all others keep their ids, so "
              "its checkpoint still fits.", place=places.INPUT_FILE)
    num_workers: int | None = setting(None, "Processes that count words; one a core unless given.", lower=1)
    max_distinct_words: int = setting(
        5_000_000, "Distinct words held in memory, some 150 bytes each; beyond it the rarest are dropped.", lower=1000)
