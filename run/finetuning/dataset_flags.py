"""Flags that name the files of a task: one to train on, one to evaluate on, one to predict."""

import os

from absl import flags

from bert_tf.cli import paths
from bert_tf.errors import InputError

flags.disclaim_key_flags()

NEEDED_WITH = {"train": "do_train", "dev": "do_eval", "test": "do_predict"}


def define_flags(kind):
    """Defines --train_file, --dev_file and --test_file; `kind`: what such a file is, in a few words."""
    for split, flag in NEEDED_WITH.items():
        flags.DEFINE_string(f"{split}_file", None, f"{kind}. Needed with --{flag}.")


def wanted(values, settings, allow_folders=False):
    """The files that are to be read: dict of split -> path.

    Args:
      values: dict of flag values.
      settings: finetuning.Settings.
      allow_folders: whether a folder of files may stand for a file.

    Raises:
      InputError: naming the flag, where one is needed and not given, or what it names cannot be read.
    """
    found = {}
    for split, flag in NEEDED_WITH.items():
        path = values[f"{split}_file"]
        if not getattr(settings, flag):
            continue
        if not path:
            raise InputError(f"--{split}_file is needed with --{flag}")
        if not (allow_folders and os.path.isdir(path)):
            paths.check_file(f"{split}_file", path)
        found[split] = path
    return found
