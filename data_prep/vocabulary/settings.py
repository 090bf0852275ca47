"""The settings of learn_vocab."""

import dataclasses

from bert_tf.cli import roles
from bert_tf.cli.model_settings import CasingSettings
from bert_tf.cli.rules import Required
from bert_tf.cli.settings import setting
from bert_tf.errors import InputError
from data_prep.text_settings import TextSettings

DEFAULT_VOCAB_SIZE = 30522  # The original BERT-Base, Uncased.
DEFAULT_NUM_UNUSED = 99  # The original vocabularies have 99 before [UNK], so [UNK] has ID 100.
MAX_ENTRIES = 10_000_000  # The largest published vocabularies have half a million entries.


@dataclasses.dataclass(frozen=True)
class VocabularySettings(TextSettings):
    """Settings for learning a vocabulary."""

    vocab_file: str | None = setting(
        None, "Vocabulary to write, one entry per line.", rules=[Required()], role=roles.OUTPUT_FILE
    )
    vocab_size: int | None = setting(
        None,
        "Number of entries, the same as vocab_size of the model. Defaults to "
        f"{DEFAULT_VOCAB_SIZE}, or with `initial_vocab` to its size.",
        min_value=1,
        max_magnitude=MAX_ENTRIES,
    )
    casing: CasingSettings = dataclasses.field(default_factory=CasingSettings)
    min_count: int = setting(
        2,
        "Minimum count of words, tokens, and characters to learn; words with rarer characters "
        "are [UNK].",
        min_value=1,
    )
    num_unused: int | None = setting(
        None,
        f"Number of [unusedN] entries, for later words. Defaults to {DEFAULT_NUM_UNUSED}. With "
        "`initial_vocab`, number of its [unusedN] entries to keep; defaults to 0.",
        min_value=0,
        max_magnitude=MAX_ENTRIES,
    )
    initial_vocab: str | None = setting(
        None,
        "Existing vocabulary: words of the text replace its [unusedN] entries, and all other "
        "entries keep their IDs, so that its checkpoint remains compatible.",
        role=roles.INPUT_FILE,
    )
    num_workers: int | None = setting(
        None, "Number of processes that count words. Defaults to one per core.", min_value=1
    )

    def check(self):
        """See Settings."""
        if self.initial_vocab == "":
            raise InputError(
                "is empty; set the path of a vocabulary, or omit it", "initial_vocab", ""
            )
