"""The settings of create_pretraining_data."""

import dataclasses

from bert_tf.cli import roles
from bert_tf.cli.settings import LARGEST_SEED, Settings, setting
from bert_tf.errors import InputError
from data_prep.pretraining.instances import InstanceSettings
from data_prep.pretraining.recipes import RECIPES
from data_prep.sharding import ShardSettings


@dataclasses.dataclass(frozen=True)
class JobSettings(Settings):
    """Settings for files, instances, and shards.

    Raises:
      InputError: On construction. The message names the field, its value, and valid values.
    """

    input_file: str | None = setting(
        None, "Text files: comma-separated paths, glob patterns, or directories, whose files are all read except "
              "hidden ones. UTF-8 with one sentence per line and a blank line after each document; without it, the "
              "document continues in the next file. Files that end in .gz are decompressed.", required=True,
        role=roles.INPUT_FILES)
    output_file: str | None = setting(
        None, "TFRecord files to write, comma-separated; records are distributed among them in turn. With several "
              "shards, train.tfrecord becomes train-00000-of-00012.tfrecord and so on.", required=True)
    vocab_file: str | None = setting(None, "Vocabulary of the model to train, one token per line.",
                                     required=True, role=roles.INPUT_FILE)
    do_lower_case: bool = setting(
        True, "Lowercase the text and strip accents: true for uncased models, false for cased models.")
    strip_accents: bool | None = setting(
        None, "Strip accents. Defaults to --do_lower_case. The two differ for some models, such as lowercase German "
              "models that keep umlauts.")
    recipe: str | None = setting(
        None, "Published recipe for records: a set of flags, which the script prints. Explicit flags take precedence. "
              "original, original_128: BERT. roberta: RoBERTa. Use the same value for training.", recipes=RECIPES)
    instances: InstanceSettings = dataclasses.field(default_factory=InstanceSettings)
    random_seed: int = setting(
        12345, "Seed of all random numbers, any 64-bit integer. The same seed and input create the same records. For "
               "a single shard, a negative seed creates the same records as its absolute value, as with Python's "
               "random.Random.", most=LARGEST_SEED)
    shards: ShardSettings = dataclasses.field(default_factory=ShardSettings)

    def check(self):
        """See Settings."""
        if self.instances.masking != "dynamic":
            return
        # The masks of packs limit the number of their sequences.
        names = ("do_whole_word_mask", "mask_fraction", "random_fraction",
                 *(() if self.instances.pack_sequences else ("masked_lm_prob",)))
        for name in names:
            value = getattr(self.instances, name)
            if value != getattr(InstanceSettings, name):
                raise InputError("has no effect with `masking`=dynamic, whose records contain no masks; set it for "
                                 "training", name, value)

    @property
    def output_files(self):
        """Paths in `output_file`, a list."""
        return (self.output_file or "").split(",")
