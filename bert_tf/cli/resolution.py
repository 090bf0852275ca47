"""Resolves settings once: from the command line, then from files next to a checkpoint, then from defaults.

    settings = resolve(settings, given, find(places_of(settings)))

If the command line contradicts the directory of a checkpoint, a note is printed to standard error. (The run in
output_dir rejects contradictions.)
"""

import contextlib
import dataclasses
import os

from bert_tf.cli import paths, places
from bert_tf.cli.cards import card_that_counts, check_run_vocabulary
from bert_tf.cli.settings import is_met
from bert_tf.config import PUBLISHED_SIZES, BertConfig
from bert_tf.errors import InputError
from bert_tf.files import exists, read_bytes
from bert_tf.model_folder import check_vocabulary
from bert_tf.model_folder import read_config as read_config_file
from bert_tf.model_folder.configs import GARDEN_NAME, ORIGINAL_NAME
from bert_tf.model_folder.finding import as_vocab_txt
from bert_tf.model_folder.tokenizers import TOKENIZER_NAME, VOCABULARY_NAME

# Source of a setting next to a checkpoint: `told_by` of bert_tf.cli.settings.setting.
CONFIG, VOCABULARY, CASING = "config", "vocabulary", "casing"

RUN = "output_dir"  # the setting of a run to resume or use; other places contain checkpoints
RUNS = ("checkpoint", "run_1/checkpoint")  # Files that identify the directory of a run, or of several runs of a task.
# Names of the files that can contain a setting, for error messages.
FILE_NAMES = {CONFIG: f"{ORIGINAL_NAME}, config.json, or {GARDEN_NAME}",
              VOCABULARY: f"{VOCABULARY_NAME} or {TOKENIZER_NAME}"}


def places_of(settings):
    """Returns the places to search for unset values: dict of setting -> checkpoint, or directory of a run."""
    found = dict([settings.checkpoint]) if settings.checkpoint else {}
    fields = {field.name: (field.metadata["place"], value) for field, value in settings.fields()}
    for name, (place, path) in fields.items():
        for each in (path if isinstance(path, tuple) else [path]) if place == places.CHECKPOINT and path else ():
            paths.check_checkpoint(name, each)
        if place == places.RUN_FOLDER and path:
            paths.check_run_folder(name, path)
            if any(exists(os.path.join(path, run)) for run in RUNS):
                found[name] = path
    return found


def resolve(settings, given, found, announce):
    """Resolves settings and checks all of their paths.

    Args:
      settings: Settings with the values of the command line and defaults.
      given: Dict of the settings on the command line and their values.
      found: bert_tf.model_folder.finding.Found.
      announce: Function that is called with a line for each setting that contradicts a checkpoint.

    Returns:
      Settings of the same class. Their computed fields have values: `found`; `config`, the BertConfig; and `card`, the
      effective TaskMetadata.

    Raises:
      InputError: If a setting is required; if a path is invalid; or if a file next to a checkpoint is corrupted,
        contradicts another, or describes a model or tokenizer that this project does not support.
    """
    unheeded = settings.of_checkpoints if settings.exported else frozenset()
    if name := next((name for name in given if name in unheeded), None):
        raise InputError("has no effect with `{}`={}, whose settings are fixed by the export; omit it".format(
            *settings.exported), name, given[name])
    told_by = {name: by for name, by in told_settings(settings).items() if name not in unheeded}
    places.check_required(settings, without={*told_by, *unheeded})
    for name in {*found.places} - {RUN}:
        with paths.errors_of(name):  # the first access to it
            found.check_no_pickle()
    card = card_that_counts(settings, given, found) if settings.serves and found.places else None
    if card:
        check_run_vocabulary(given, found)
        settings = settings.with_values({
            name: value for name, value in dataclasses.asdict(card).items() if name not in (*told_by, "labels")})
    settings = settings.with_values({**told_values(told_by, given, found, announce), "found": found})
    if card:
        values = settings.values()
        settings = settings.with_values({"card": dataclasses.replace(
            card, do_lower_case=values["do_lower_case"], strip_accents=values["strip_accents"])})
    settings = settings.completed().with_values({
        name: value for name, value in settings.values().items() if name in given})
    places.check(settings, without=unheeded)
    config_name = next((name for name, by in told_by.items() if by == CONFIG), None)
    if config_name and not any(getattr(group, "config", None) for group in settings.groups()):
        settings = settings.with_values({
            "config": read_config(settings.values()[config_name], settings.longest_sequence)})
    for group in settings.groups():
        group.check_files()
    return settings


def told_settings(settings):
    """Returns a dict of setting -> its source next to a checkpoint: CONFIG, VOCABULARY, or CASING."""
    fields = list(settings.fields())
    return {field.name: field.metadata["told_by"] for field, _ in fields if field.metadata["told_by"] and (
        not isinstance(field.metadata["required"], str) or is_met(field.metadata["required"], fields))}


def read_config(bert_config_file, max_seq_length):
    """Returns the BertConfig of a file or a published size.

    Raises:
      InputError: If the file does not exist, is not a config, or has fewer positions than `max_seq_length`.
    """
    if bert_config_file in PUBLISHED_SIZES and not os.path.exists(bert_config_file):
        config = BertConfig.from_name(bert_config_file)
    else:
        paths.check_file("bert_config_file", bert_config_file)
        config = read_config_file(bert_config_file)
    if max_seq_length > config.max_position_embeddings:
        raise InputError(f"must be at most {config.max_position_embeddings} (max_position_embeddings of "
                         f"{bert_config_file})", "max_seq_length", max_seq_length)
    return config


def told_values(told_by, given, found, announce):
    """Returns values of settings from files next to a checkpoint, for settings that are not on the command line.

    Args:
      told_by: Dict of setting -> CONFIG, VOCABULARY, or CASING.
      given, found, announce: See `resolve`.

    Returns:
      Dict of setting -> value.

    Raises:
      InputError: See `resolve`.
    """
    return _Resolution(told_by, given, found, announce).values()


class _Resolution:
    """See `told_values`."""

    def __init__(self, told_by, given, found, announce):
        self._given = {name: value for name, value in given.items() if value is not None}
        self._found, self._announce = found, announce
        self._checkpoint = next((name for name in found.places if name != RUN), None)
        self._config, self._vocabulary = (
            next((name for name, by in told_by.items() if by == wanted), None) for wanted in (CONFIG, VOCABULARY))
        self._casing = [name for name, by in told_by.items() if by == CASING]

    def values(self):
        """Returns a dict of setting -> value for settings with a source."""
        values = self._config_file() if self._config else {}
        if self._vocabulary:
            values |= self._vocab_file(values) | self._casing_values()
        for name, by in ((self._config, CONFIG), (self._vocabulary, VOCABULARY)):
            if name and name not in values and name not in self._given and self._found.places:
                place, path = next(iter(self._found.places.items()))
                raise InputError(f"is required: there is no {FILE_NAMES[by]} next to `{place}`={path}", name)
        return values

    def _config_file(self):
        name = self._config
        if self._given.get(name):
            with contextlib.suppress(InputError, OSError):  # explicit values are checked later, others are unused
                self._compare_configs(self._given[name], self._found.configs.get(self._checkpoint))
            return {}
        return {name: self._found.config_file} if self._found.config_file else {}

    def _vocab_file(self, values):
        name = self._vocabulary
        if self._given.get(name):
            path = as_vocab_txt(self._given[name])
            with contextlib.suppress(InputError, OSError):
                self._compare_vocabularies(path, self._found.vocabularies.get(self._checkpoint))
            return {name: path}
        found = self._found.vocab_file
        if not found:
            return {}
        path = as_vocab_txt(found)
        if self._config in values:
            check_vocabulary(values[self._config], path, found)
        return {name: path}

    def _casing_values(self):
        """Returns the casing that is not explicit; announces where the checkpoint's differs from explicit values."""
        if not self._casing:
            return {}
        try:
            place, found = self._found.casing
        except (InputError, OSError):  # no error if all relevant values are explicit
            if not all(name in self._given for name in (self._vocabulary, "do_lower_case")):
                raise
            return {}
        told = {"do_lower_case": found.do_lower_case, "strip_accents": found.strip_accents}
        if found.strip_accents is None:
            told["strip_accents"] = found.do_lower_case
        values = {name: getattr(found, name) for name in self._casing if name not in self._given}
        for name in (each for each in self._casing if each in self._given and place == self._checkpoint):
            if told[name] not in (None, self._given[name]) and os.sep in found.casing_from:
                # (A casing from the name of a published directory has no path; check_casing rejects contradictions.)
                self._note(f"`{name}`={self._given[name]} overrides {found.casing_from} ({told[name]})")
        if self._given.get("do_lower_case") not in (None, found.do_lower_case):
            values.pop("strip_accents", None)  # from a casing that is not used
        return {name: value for name, value in values.items() if value is not None}

    def _compare_configs(self, given, there):
        """Announces a difference between an explicit config and the one next to the checkpoint, if there is one."""
        if not there:
            return
        ours, theirs = (read_config(path, 1).to_dict() for path in (given, there))
        name = next((name for name in ours | theirs if ours.get(name) != theirs.get(name)), None)
        if name:
            self._note(f"`{self._config}`={given} overrides {there}: {name} is {ours.get(name)}, not "
                       f"{theirs.get(name)}")

    def _compare_vocabularies(self, given, there):
        if there is not None and read_bytes(as_vocab_txt(there)) != read_bytes(given):
            self._note(f"`{self._vocabulary}`={given} overrides {there}, which differs")

    def _note(self, text):
        self._announce(f"note: {text}")
