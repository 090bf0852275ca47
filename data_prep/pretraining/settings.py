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
        None, "Text files: comma-separated paths, glob patterns, or directories, whose files are all read except "
              "hidden ones. UTF-8 with one sentence per line and a blank line after each document; without it, the "
              "document continues in the next file. Files that end in .gz are decompressed.", required=True,
        place=places.INPUT_FILES)
    output_file: str | None = setting(
        None, "TFRecord files to write, comma-separated; records are distributed among them in turn. With several "
              "shards, train.tfrecord becomes train-00000-of-00012.tfrecord and so on.", required=True)
    vocab_file: str | None = setting(None, "Vocabulary of the model to train, one token per line.",
                                     required=True, place=places.INPUT_FILE)
    do_lower_case: bool = setting(
        True, "Lowercase the text and strip accents: true for uncased models, false for cased models.")
    strip_accents: bool | None = setting(
        None, "Strip accents. Defaults to --do_lower_case. The two differ for some models, such as lowercase German "
              "models that keep umlauts.")
    recipe: str | None = setting(
        None, "Published recipe for records: a set of flags, which the script prints. Explicit flags take precedence. "
              "original: BERT. roberta: RoBERTa. Use the same value for training.", recipes=RECIPES)
    instances: InstanceSettings = dataclasses.field(default_factory=InstanceSettings)
    random_seed: int = setting(
        12345, "Seed of all random numbers, any 64-bit integer. The same seed and input create the same records. For "
               "a single shard, a negative seed creates the same records as its absolute value, as with Python's "
               "random.Random.", most=LARGEST_SEED)
    num_output_shards: int = setting(
        1, "Number of shards of about equal size, each from consecutive documents. Random next sentences come from "
           "the same shard.", lower=1)
    max_shard_mb: float = setting(
        32.0, "Maximum text per shard in MB, not counting the rest of its last document; a larger text results in "
              "more shards. A worker requires 160 MB plus, at a `dupe_factor` of 10, four times this; the reading "
              "process requires 0.9 GB. 0 for no limit, with the complete text in memory.", lower=0)
    num_workers: int | None = setting(
        None, "Number of processes that create records, with `runner` local or direct; at most one per shard. "
              "Defaults to one per core, and fewer for a small text. The records do not depend on it.", lower=1)
    verify: bool = setting(
        False, "Compare all bytes of finished shards with their SHA-256 in the manifest. By default, compares their "
               "sizes and a sample of their bytes.")
    runner: str = setting(
        "local", "Where to create shards; the records do not depend on it. local: on this machine. The other runners "
                 "are Apache Beam's (pip install -e '.[beam]'). direct: also on this machine, to try Beam. The "
                 "workers of a cluster must be able to open all paths, and must have this project installed.",
        choices=RUNNERS)
    beam_options: str = setting(
        "", "Options for Apache Beam, as on a command line: '--region=europe-west4 --temp_location=gs://bucket/tmp'.")

    def check(self):
        if math.isinf(self.max_shard_mb):
            raise InputError(f"`max_shard_mb`={self.max_shard_mb}: must be finite; set 0 for no limit")

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
