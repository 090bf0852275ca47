"""The settings of create_pretraining_data."""

import dataclasses

from bert_tf.cli import roles
from bert_tf.cli.model_settings import CasingSettings
from bert_tf.cli.rules import Required
from bert_tf.cli.settings import MAX_SEED, adapt, setting
from bert_tf.errors import InputError
from data_prep.pretraining.instances import InstanceSettings
from data_prep.pretraining.recipes import RECIPES
from data_prep.text_settings import TextSettings

# All except "local" are Apache Beam's.
RUNNERS = ("local", "direct", "dataflow", "flink", "spark", "dask")


@dataclasses.dataclass(frozen=True)
class JobSettings(TextSettings):
    """Settings for files, instances, and shards."""

    input_file: str | None = adapt(
        TextSettings,
        "input_file",
        help_text="Text files: comma-separated paths, glob patterns, or directories, whose files "
        "are all read except hidden ones. UTF-8 with one sentence per line and a blank line after "
        "each document. Without a blank line at the end of a file, its last document continues in "
        "the next file. Files in gzip format are decompressed.",
    )
    output_file: str | None = setting(
        None,
        "TFRecord files to write, comma-separated; records are distributed among them in turn. "
        "With several shards, train.tfrecord becomes train-00000-of-00012.tfrecord and so on.",
        rules=[Required()],
        changeable=None,
    )
    vocab_file: str | None = setting(
        None,
        "Vocabulary of the model to train, one token per line.",
        rules=[Required()],
        role=roles.INPUT_FILE,
    )
    casing: CasingSettings = dataclasses.field(default_factory=CasingSettings)
    recipe: str | None = setting(
        None,
        "Published recipe for records: a set of flags, which the script prints. Explicit flags "
        "take precedence. original, original_128: BERT. roberta: RoBERTa. Use the same value for "
        "training.",
        recipes=RECIPES,
        changeable=None,
    )
    instances: InstanceSettings = dataclasses.field(default_factory=InstanceSettings)
    random_seed: int = setting(
        12345,
        "Seed of all random numbers, any 64-bit integer. The same seed and input create the same "
        "records. For a single shard, a negative seed creates the same records as its absolute "
        "value, as with Python's random.Random.",
        max_magnitude=MAX_SEED,
    )
    num_output_shards: int = setting(
        1,
        "Number of shards of about equal size, each from consecutive documents. Random next "
        "sentences come from the same shard.",
        min_value=1,
        changeable=None,
    )
    max_shard_mb: float = setting(
        32.0,
        "Maximum text per shard in MB, not counting the rest of its last document. A larger text "
        "results in more shards. With --dupe_factor=10, a process that creates shards requires "
        "0.85 GB plus five times this size. 0 for no limit, with the complete text in memory.",
        min_value=0,
        changeable=None,
    )
    num_workers: int | None = setting(
        None,
        "Number of processes that create shards, with `runner` local or direct; at most one per "
        "shard. Defaults to one per core, and fewer for a small text. The output does not depend "
        "on it.",
        min_value=1,
        changeable=None,
    )
    verify: bool = setting(
        False,
        "Compare the SHA-256 of finished shards, not only the sizes of their files.",
        changeable=None,
    )
    runner: str = setting(
        "local",
        "Where to create shards; the output does not depend on it. local: on this machine. The "
        "other runners are Apache Beam's (pip install -e '.[beam]'; for dask, '.[dask]'). direct: "
        "also on this machine, to try Beam. dask: the cluster of "
        "--beam_options=--dask_client_address=tcp://HOST:PORT. The workers of a cluster must be "
        "able to open all paths, and must have this project installed.",
        choices=RUNNERS,
        changeable=None,
    )
    beam_options: str = setting(
        "",
        "Options for Apache Beam, as on a command line: '--region=europe-west4 "
        "--temp_location=gs://bucket/tmp'.",
        changeable=None,
    )

    def check(self):
        """See Settings."""
        if self.instances.masking != "dynamic":
            return
        names = ["do_whole_word_mask", "mask_fraction", "random_fraction"]
        # The masks of packs limit the number of their sequences.
        if not self.instances.pack_sequences:
            names.append("masked_lm_prob")
        for name in names:
            value = getattr(self.instances, name)
            if value != getattr(InstanceSettings, name):
                raise InputError(
                    "has no effect with `masking`=dynamic, whose records contain no masks; set it "
                    "for training",
                    name,
                    value,
                )

    @property
    def output_files(self):
        """Paths in `output_file`, a list."""
        return (self.output_file or "").split(",")
