"""The pre-training objectives, and the settings for the instances of a corpus.

An objective defines the instances of a corpus (`pairs`, `crosses_documents`), the predicted tokens
(`predicts_next`), and the label features of a record and the label loss and metrics
(`sentence_label`).
"""

import dataclasses

from bert_tf.cli.rules import Needs, NotWith, equals
from bert_tf.cli.settings import Settings, setting
from bert_tf.errors import InputError
from data_prep import records
from data_prep.pretraining.instances import masking

NUM_SPECIAL = 3  # [CLS], [SEP], [SEP].
MAX_SEQ_LENGTH = (1 << 16) - 1  # Mask positions are stored as uint16.
MASKINGS = ("static", "dynamic")
NO_MASKS = equals(
    "objective", "left_to_right"
)  # Condition with which the settings of masks have no effect.
SHORT_SEQ_PROB = 0.1


@dataclasses.dataclass(frozen=True)
class Objective:
    """A pre-training objective, and its rules for extracting sequences from a corpus.

    Attributes:
      name: str. Name in settings.
      pairs: str or None. "random": [CLS] a [SEP] b [SEP], with b from another document half of the
        time. "swapped": the same, with a and b consecutive, and swapped half of the time. None:
        sequences of whole sentences.
      crosses_documents: bool. Whether a sequence of sentences continues in the next document, after
        a [SEP].
      sentence_label: str or None. Label of a sequence, and prefix of its features and losses:
        "next_sentence", "sentence_order", or None for no label.
      predicts_next: bool. Whether each token predicts the next one, without masks, instead of the
        masked LM.
    """

    name: str
    pairs: str | None = None
    crosses_documents: bool = False
    sentence_label: str | None = None
    predicts_next: bool = False

    @property
    def token_loss(self):
        """Name prefix of the loss and the accuracy of the predicted tokens."""
        return "next_token" if self.predicts_next else "masked_lm"

    @property
    def min_documents(self):
        """Minimum number of documents in a corpus."""
        return 2 if self.pairs == "random" else 1


OBJECTIVES = {
    objective.name: objective
    for objective in (
        Objective("sentence_pairs", "random", sentence_label="next_sentence"),
        Objective("segment_pairs", "random"),
        Objective("left_to_right", "random", predicts_next=True),
        Objective("sentence_order", "swapped", sentence_label="sentence_order"),
        Objective("full_sentences", crosses_documents=True),
        Objective("doc_sentences"),
    )
}


@dataclasses.dataclass(frozen=True)
class RecordSettings(Settings):
    """Settings for records. Training uses the same values as their creation.

    Names, meanings, and defaults match the flags of the original BERT.
    """

    max_seq_length: int = setting(
        128,
        "Sequence length in tokens, including [CLS] and [SEP]. Use the same value for records and "
        "for training.",
        min_value=NUM_SPECIAL + 2,
        max_value=MAX_SEQ_LENGTH,
    )
    max_predictions_per_seq: int = setting(
        20,
        "Maximum number of masked tokens per record, about max_seq_length * masked_lm_prob. Use "
        "the same value for records and for training.",
        min_value=1,
        max_value=MAX_SEQ_LENGTH,
        rules=[NotWith(NO_MASKS)],
    )
    masked_lm_prob: float = setting(
        0.15,
        "Fraction of the tokens of a record to mask, at least one token.",
        min_value=0,
        max_value=1,
        rules=[NotWith(NO_MASKS)],
    )
    do_whole_word_mask: bool = setting(
        False, "Mask whole words instead of single tokens.", rules=[NotWith(NO_MASKS)]
    )
    mask_fraction: float = setting(
        masking.MASK_FRACTION,
        "Fraction of the masked tokens that become [MASK].",
        min_value=0,
        max_value=1,
        rules=[NotWith(NO_MASKS)],
    )
    random_fraction: float = setting(
        masking.RANDOM_FRACTION,
        "Fraction of the masked tokens that become a random token. The rest stays unchanged.",
        min_value=0,
        max_value=1,
        rules=[NotWith(NO_MASKS)],
    )
    masking: str = setting(
        "static",
        "static: records contain their masks, as in the original BERT. dynamic: records contain "
        "only sequences, and training samples new masks in each epoch: for training, also set "
        "`masking` to dynamic, and `max_predictions_per_seq`, `masked_lm_prob`, "
        "`do_whole_word_mask`, `mask_fraction`, and `random_fraction`.",
        choices=MASKINGS,
        rules=[NotWith(NO_MASKS)],
    )
    objective: str = setting(
        "sentence_pairs",
        "sentence_pairs: two segments of one document or of two, for next sentence prediction as "
        "in the original BERT. segment_pairs: the same without a label. left_to_right: the same "
        "without masks, to predict each next token, which requires a config with causal attention. "
        "sentence_order: two consecutive segments, swapped half of the time, as in ALBERT. "
        "full_sentences: as many sentences as fit, with [SEP] between documents. doc_sentences: "
        "the same within one document. Use the same value for records and for training.",
        choices=tuple(OBJECTIVES),
    )
    pack_sequences: bool = setting(
        False,
        "Pack several sequences into a record, each with its own positions and attention, to "
        "reduce padding on devices that compute it. Use the same value for records and for "
        "training.",
    )
    max_sequences_per_pack: int = setting(
        12,
        "With `pack_sequences`: maximum number of sequences per record. Use the same value for "
        "records and for training.",
        min_value=1,
        max_value=255,
        rules=[Needs("pack_sequences")],
    )

    def check(self):
        """See Settings."""
        masking.check_fractions(self.mask_fraction, self.random_fraction)

    @property
    def has_masks(self):
        """True if records contain their masks."""
        return self.masking == "static" and not self.objective_spec.predicts_next

    @property
    def objective_spec(self):
        """The Objective."""
        return OBJECTIVES[self.objective]

    @property
    def max_packed(self):
        """Maximum number of sequences per record, or 0 if sequences are not packed."""
        return self.max_sequences_per_pack if self.pack_sequences else 0

    @property
    def features(self):
        """Features of the records, a tuple of records.Feature."""
        label_options = {
            "sentence_label": self.objective_spec.sentence_label,
            "max_packed": self.max_packed,
        }
        if self.has_masks:
            return records.pretraining_features(
                self.max_seq_length, self.max_predictions_per_seq, **label_options
            )
        return records.unmasked_pretraining_features(self.max_seq_length, **label_options)


@dataclasses.dataclass(frozen=True)
class InstanceSettings(RecordSettings):
    """Settings for instances."""

    dupe_factor: int | None = setting(
        None,
        "Number of times to use each document, with different pairs and masks each time. Defaults "
        "to 10, or to 1 if records contain no masks.",
        min_value=1,
    )
    short_seq_prob: float = setting(
        SHORT_SEQ_PROB,
        "Probability of splitting a document into records of a random length below max_seq_length; "
        "for an `objective` with pairs.",
        min_value=0,
        max_value=1,
    )

    def check(self):
        """See Settings."""
        super().check()
        if self.short_seq_prob != SHORT_SEQ_PROB and not self.objective_spec.pairs:
            raise InputError(
                f"cannot be combined with `objective`={self.objective}",
                "short_seq_prob",
                self.short_seq_prob,
            )

    @property
    def num_passes(self):
        """Number of times that each document is used: `dupe_factor`, or its default."""
        if self.dupe_factor is not None:
            return self.dupe_factor
        return 10 if self.has_masks else 1
