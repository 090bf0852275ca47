"""The settings of scripts that create shards: their number, the processes, and the runner."""

import dataclasses
import math

from bert_tf.cli.settings import Settings, setting
from bert_tf.errors import InputError

RUNNERS = ("local", "direct", "dataflow", "flink", "spark", "dask")  # All except "local" are Apache Beam's.


@dataclasses.dataclass(frozen=True)
class ShardSettings(Settings):
    """Settings for the division of the text into shards, the processes, and the runner.

    Raises:
      InputError: On construction. The message names the field, its value, and valid values.
    """

    num_output_shards: int = setting(
        1, "Number of shards of about equal size, each from consecutive documents. Random next sentences of records "
           "come from the same shard.", lower=1)
    max_shard_mb: float = setting(
        32.0, "Maximum text per shard in MB, not counting the rest of its last document; a larger text results in "
              "more shards. For records, a worker requires 160 MB plus, with a dupe_factor of 10, four times this; the "
              "reading process requires 0.9 GB. 0 for no limit, with the complete text in memory.", lower=0)
    num_workers: int | None = setting(
        None, "Number of processes that create shards, with `runner` local or direct; at most one per shard. Defaults "
              "to one per core, and fewer for a small text. The output does not depend on it.", lower=1)
    verify: bool = setting(
        False, "Compare all bytes of finished shards with their SHA-256 in the manifest. By default, compares their "
               "sizes and a sample of their bytes.")
    runner: str = setting(
        "local", "Where to create shards; the output does not depend on it. local: on this machine. The other runners "
                 "are Apache Beam's (pip install -e '.[beam]'; for dask, '.[dask]'). direct: also on this machine, to "
                 "try Beam. dask: the cluster of --beam_options=--dask_client_address=tcp://HOST:PORT. The "
                 "workers of a cluster must be able to open all paths, and must have this project installed.",
        choices=RUNNERS)
    beam_options: str = setting(
        "", "Options for Apache Beam, as on a command line: '--region=europe-west4 --temp_location=gs://bucket/tmp'.")

    def check(self):
        if math.isinf(self.max_shard_mb):
            raise InputError(f"`max_shard_mb`={self.max_shard_mb}: must be finite; set 0 for no limit")

    @property
    def max_shard_bytes(self):
        """`max_shard_mb` in bytes; 0 for no limit."""
        if not self.max_shard_mb:
            return 0
        return max(1, round(self.max_shard_mb * 1e6))
