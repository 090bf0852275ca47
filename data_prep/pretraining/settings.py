"""The settings of create_pretraining_data."""

import dataclasses
import math

from bert_tf.cli import places
from bert_tf.cli.settings import LARGEST_SEED, Settings, setting
from bert_tf.errors import InputError
from data_prep.pretraining.instances import InstanceSettings
from data_prep.pretraining.recipes import RECIPES

RUNNERS = ("local", "direct", "dataflow", "flink", "spark")  # All except "local" are Apache Beam's.


@dataclasses.dataclass(frozen=True)
class JobSettings(Settings):
    """Settings for files, the division of the text into shards, and the runner.

    Raises:
      InputError: On construction. The message names the field, its value, and valid values.
    """

    input_file: str | None = setting(
        None, "Text files: comma-separated paths, glob patterns or folders, of which all files are taken, hidden ones "
              "left out; UTF-8, one sentence a line, a blank line after each document (without one, the document "
              "continues in the next file); names that end in .gz are decompressed.", required=True,
        place=places.INPUT_FILES)
    output_file: str | None = setting(
        None, "TFRecord files to write, comma-separated; records go to them in turn. With several shards, "
              "train.tfrecord stands for train-00000-of-00012.tfrecord and so on.", required=True)
    vocab_file: str | None = setting(None, "Vocabulary of the model to be trained, one piece a line.",
                                      required=True, place=places.INPUT_FILE)
    do_lower_case: bool = setting(
        True, "Lower-case the text and strip accents: true for uncased models, false for cased ones.")
    strip_accents: bool | None = setting(
        None, "Whether to strip accents; unset means as --do_lower_case. They differ for some models, such as German "
              "ones, in lower case with their umlauts.")
    recipe: str | None = setting(
        None, "A published way to make records, as a set of flags, which is printed; a flag that is given counts "
              "before it. original: BERT's; roberta: RoBERTa's. Training must be given the same.",
        recipes=RECIPES)
    instances: InstanceSettings = dataclasses.field(default_factory=InstanceSettings)
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
        None, "Processes that create records, with the `runner` local or direct; at most one per shard. Defaults to "
              "one per core, fewer for a small text. The records do not depend on it.", lower=1)
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
        """Paths in `output_file`, a list."""
        return (self.output_file or "").split(",")

    @property
    def max_shard_bytes(self):
        """`max_shard_mb` in bytes; 0 for no limit."""
        if not self.max_shard_mb:
            return 0
        return max(1, round(self.max_shard_mb * 1e6))
