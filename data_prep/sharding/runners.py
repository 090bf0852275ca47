"""The choice between the local runner and the runner of Apache Beam."""

import functools
import importlib.util

from bert_tf.errors import InputError
from data_prep.sharding import local_runner


def choose_runner(settings, files):
    """Returns the create_shards of local_runner or beam_runner, with runner-specific arguments bound.

    Args:
      settings: ShardSettings.
      files: Paths of all files to read and write.

    Returns:
      Callable of a ShardPlan and its Manifest, for shard_plan.complete.

    Raises:
      InputError: If options are incompatible with the runner, or if Apache Beam is not installed.
    """
    if settings.runner == "local":
        if settings.beam_options:
            raise InputError(f"`beam_options`={settings.beam_options}: cannot be combined with `runner`=local")
        return functools.partial(local_runner.create_shards, num_workers=settings.num_workers)
    if not importlib.util.find_spec("apache_beam"):
        raise InputError(f"`runner`={settings.runner}: requires Apache Beam; run pip install -e '.[beam]'")
    if settings.runner == "dask" and not importlib.util.find_spec("distributed"):
        raise InputError("`runner`=dask: requires Dask; run pip install -e '.[dask]'")
    from data_prep.sharding import beam_runner

    beam_runner.check_paths(settings.runner, files)
    options = beam_runner.create_options(settings.runner, settings.beam_options, settings.num_workers)
    return functools.partial(beam_runner.create_shards, options=options)
