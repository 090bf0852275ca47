"""Settings with what the folder of a checkpoint tells, for scripts whose job resolves the rest itself."""

import dataclasses

from bert_tf.cli import resolution
from bert_tf.cli.resolution import CASING as TOLD_CASING
from bert_tf.cli.resolution import CONFIG, VOCABULARY
from bert_tf.cli.script import warn
from bert_tf.model_folder import finding
from bert_tf.model_folder.finding import as_vocab_txt

__all__ = ["CASING", "as_vocab_txt", "complete", "find"]

CASING = ("do_lower_case", "strip_accents")
TOLD_BY = {"bert_config_file": CONFIG, "vocab_file": VOCABULARY, **dict.fromkeys(CASING, TOLD_CASING)}


def complete(settings, given, tokenizer="tokenizer"):
    """Settings with the values that `find` gives; `tokenizer`: the group of the vocabulary, None if none is needed."""
    names = {"bert_config_file"}
    if tokenizer:
        names |= {field.name for field in dataclasses.fields(getattr(settings, tokenizer))} & {*TOLD_BY}
    return settings.with_values(find(resolution.places_of(settings), given, names))


def find(places, given, names):
    """Dict of setting -> value, of `names`, where it is given or lies beside one of `places` (argument -> path)."""
    found = finding.find(places)
    found.check_no_pickle()
    values = {name: given[name] for name in names if given.get(name) is not None}
    return values | resolution.told_values({name: TOLD_BY[name] for name in TOLD_BY if name in names}, given, found,
                                           warn)
