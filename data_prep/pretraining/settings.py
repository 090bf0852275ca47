"""The settings of pre-training data: the group that decides the instances, and those of a run."""

import dataclasses
import math

from bert_tf.cli.settings import LARGEST_SEED, Settings, setting
from bert_tf.errors import InputError
from data_prep import records

NUM_SPECIAL = 3  # [CLS], [SEP], [SEP]
MAX_SEQ_LENGTH = (1 << 16) - 1  # positions of masks are held as uint16
MASKINGS = ("static", "dynamic")
RUNNERS = ("local", "direct", "dataflow", "flink", "spark")  # all but the first are Apache Beam's


@dataclasses.dataclass(frozen=True)
class InstanceSettings(Settings):
    """How instances are made; names, meanings and defaults are those of the original's flags.

    Raises:
      InputError: on construction, naming the field, its value and what would be right.
    """

    max_seq_length: int = setting(
        128, "Length of a record in ids, S, with [CLS] and both [SEP]; training must be given the same.")
    max_predictions_per_seq: int = setting(
        20, "Most masked positions of a record, P, about max_seq_length * masked_lm_prob; training must be given the "
            "same.")
    dupe_factor: int | None = setting(
        None, "How many times each document is used, each time with other pairs and masks; unless given, 10, or 1 "
              "with dynamic `masking`.")
    masked_lm_prob: float = setting(0.15, "Share of a record's ids that are masked; at least one is.")
    short_seq_prob: float = setting(
        0.1, "Probability that a document is cut into records of one random length shorter than max_seq_length.")
    do_whole_word_mask: bool = setting(False, "Mask all pieces of a word or none, in place of single pieces.")
    masking: str = setting(
        "static", "static: records hold their masks, as the original's. dynamic: they hold sentence pairs only, and "
                  "training draws new masks each time (give it dynamic `masking` too, and there "
                  "`max_predictions_per_seq`, `masked_lm_prob` and `do_whole_word_mask`).", choices=MASKINGS)

    def check(self):
        """See Settings."""
        # The bounds are checked here, not by the flags, which have none in the original.
        if not NUM_SPECIAL + 2 <= self.max_seq_length <= MAX_SEQ_LENGTH:
            raise InputError(f"`max_seq_length`={self.max_seq_length}: it must be at least "
                             f"{NUM_SPECIAL + 2}, for [CLS] a [SEP] b [SEP], and at most {MAX_SEQ_LENGTH}")
        for name in ("max_predictions_per_seq", "dupe_factor"):
            if getattr(self, name) is not None and getattr(self, name) < 1:
                raise InputError(f"`{name}`={getattr(self, name)}: it must be at least 1")
        if self.max_predictions_per_seq > MAX_SEQ_LENGTH:
            raise InputError(f"`max_predictions_per_seq`={self.max_predictions_per_seq}: it must be at most "
                             f"{MAX_SEQ_LENGTH}")
        for name in ("masked_lm_prob", "short_seq_prob"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"`{name}`={getattr(self, name)}: a probability lies between 0 and 1")

    @property
    def num_passes(self):
        """How many times each document is used: `dupe_factor`, or what stands for it where it is not given."""
        if self.dupe_factor is not None:
            return self.dupe_factor
        return 1 if self.masking == "dynamic" else 10

    @property
    def features(self):
        """Features of the records of such instances: tuple of records.Feature."""
        if self.masking == "dynamic":
            return records.unmasked_pretraining_features(self.max_seq_length)
        return records.pretraining_features(self.max_seq_length, self.max_predictions_per_seq)


@dataclasses.dataclass(frozen=True)
class JobSettings(Settings):
    """A run of create_pretraining_data: its files, how the text is divided, and where the shards are made.

    Raises:
      InputError: on construction, naming the field, its value and what would be right.
    """

    input_file: str | None = setting(
        None, "Text files: comma-separated paths, glob patterns or folders, of which all files are taken, hidden ones "
              "left out; UTF-8, one sentence a line, a blank line after each document (without one, the document "
              "continues in the next file); names that end in .gz are decompressed.")
    output_file: str | None = setting(
        None, "TFRecord files to write, comma-separated; records go to them in turn. With several shards, "
              "train.tfrecord stands for train-00000-of-00012.tfrecord and so on.")
    vocab_file: str | None = setting(None, "Vocabulary of the model to be trained, one piece a line.")
    do_lower_case: bool = setting(
        True, "Lower-case the text and strip accents: true for uncased models, false for cased ones.")
    strip_accents: bool | None = setting(
        None, "Whether to strip accents; unset means as --do_lower_case. They differ for some models, such as German "
              "ones, in lower case with their umlauts.")
    instances: InstanceSettings = InstanceSettings()
    random_seed: int = setting(
        12345, "Seed of every random draw, any integer of 64 bits: same seed and input, same records. As with Python's "
               "random.Random, the records of a single shard are those of its absolute value.",
        most=LARGEST_SEED)
    num_output_shards: int = setting(
        1, "Into how many shards of about equal size the text is made, each from its own consecutive documents: "
           "random next sentences come from the same shard.", lower=1)
    max_shard_mb: float = setting(
        32.0, "Most text of a shard, in millions of bytes, not counting the rest of its last document; a larger text "
              "is made into more shards. A worker takes 160 MB and, at a `dupe_factor` of 10, four times this; the "
              "process that reads, 0.9 GB. 0: no limit, the whole text in memory.", lower=0)
    num_workers: int | None = setting(
        None, "Processes that make records, with the `runner` local or direct; one a core unless given, at most one "
              "a shard. The records do not depend on it.", lower=1)
    verify: bool = setting(
        False, "Whether all bytes of shards that an earlier run finished are compared with their SHA-256 in the "
               "manifest; else their sizes and a sample of their bytes are.")
    runner: str = setting(
        "local", "Where shards are made; the records do not depend on it. local: on this machine. The others are "
                 "Apache Beam's (pip install -e '.[beam]'): direct, on this machine too, is to try it out. The "
                 "workers of a cluster must be able to open all paths, and have this project installed.",
        choices=RUNNERS)
    beam_options: str = setting(
        "", "Options for Apache Beam, as on a command line: '--region=europe-west4 --temp_location=gs://bucket/tmp'.")

    def check(self):
        if math.isinf(self.max_shard_mb):
            raise InputError(f"`max_shard_mb`={self.max_shard_mb}: give 0 for no limit")

    @property
    def output_files(self):
        """The paths of `output_file`, a list."""
        return (self.output_file or "").split(",")

    @property
    def max_shard_bytes(self):
        """`max_shard_mb` in bytes, 0 for no limit."""
        if not self.max_shard_mb:
            return 0
        return max(1, round(self.max_shard_mb * 1e6))
