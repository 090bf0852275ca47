"""Resolves settings once: from the command line, then from files next to a checkpoint, then from defaults.

    settings = resolve(settings, explicit, ModelFiles(find_checkpoints(settings)))

If the command line contradicts the directory of a checkpoint, a note is printed to standard error. (The run in
output_dir rejects contradictions.)
"""

import contextlib
import dataclasses
import os

from bert_tf.cli import paths, places
from bert_tf.cli.settings import format_condition, is_met
from bert_tf.cli.task_resolution import is_length_known, resolve_task_metadata
from bert_tf.config import LATER_DEFAULTS, PUBLISHED_SIZES, BertConfig
from bert_tf.errors import InputError
from bert_tf.files import read_bytes
from bert_tf.model_folder import check_vocabulary
from bert_tf.model_folder import read_config as read_config_file
from bert_tf.model_folder.model_files import CONFIG_NAMES, VOCABULARY_NAMES, check_run_vocabulary, to_vocab_txt
from bert_tf.run_state import has_run
from bert_tf.tokenization.vocabulary import describe_lines, read_vocabulary

# Source of a setting next to a checkpoint: `source` of bert_tf.cli.settings.setting.
CONFIG, VOCABULARY, CASING = "config", "vocabulary", "casing"

VOCABULARIES = ("vocab_file", "initial_vocab")  # settings with the path of a vocabulary
RUN = "output_dir"  # the setting of a run to resume or use; other places contain checkpoints
FILE_NAMES = {CONFIG: CONFIG_NAMES, VOCABULARY: VOCABULARY_NAMES}  # for error messages


def find_checkpoints(settings):
    """Returns the places to search for unset values: dict of setting -> checkpoint, or directory of a run."""
    checkpoints = dict([settings.checkpoint]) if settings.checkpoint else {}
    fields = {field.name: (field.metadata["place"], value) for field, value in settings.fields()}
    for name, (place, path) in fields.items():
        for each in (path if isinstance(path, tuple) else [path]) if place == places.CHECKPOINT and path else ():
            paths.check_checkpoint(name, each)
        if place == places.RUN_FOLDER and path:
            paths.check_run_folder(name, path)
            if has_runs(path):
                checkpoints[name] = path
    return checkpoints


def has_runs(folder):
    """Returns whether a directory contains a run, or several runs of a task."""
    return has_run(folder) or has_run(os.path.join(folder, "run_1"))


def resolve(settings, explicit, model_files, announce):
    """Resolves settings and checks all of their paths.

    Args:
      settings: Settings with the values of the command line and defaults.
      explicit: Dict of the settings on the command line and their values.
      model_files: ModelFiles of the checkpoints.
      announce: Function that is called with a line for each setting that contradicts a checkpoint.

    Returns:
      Settings of the same class with computed values for `model_files`, `config` (the BertConfig), and `served_task`
      (the TaskMetadata with which a job serves a model).

    Raises:
      InputError: If a setting is required; if a path is invalid; or if a file next to a checkpoint is corrupted,
        contradicts another, or describes a model or tokenizer that this project does not support.
    """
    ignored = settings.checkpoint_only if settings.exported_model else frozenset()
    if name := next((name for name in explicit if name in ignored), None):
        raise InputError("has no effect with `{}`={}, whose settings are fixed by the export; omit it".format(
            *settings.exported_model), name, explicit[name])
    fields = list(settings.fields())
    for name, conditions in settings.replaced.items():
        for condition in conditions.split(" or ") if name in explicit else ():
            if is_met(condition, fields):
                raise InputError(f"has no effect with {format_condition(condition)}; omit it", name, explicit[name])
    sources = {name: by for name, by in get_value_sources(settings).items() if name not in ignored}
    places.check_required(settings, without={*sources, *ignored})
    for name in {*model_files.checkpoints} - {RUN}:
        with paths.convert_remote_errors(name):  # the first access to it
            model_files.check_loadable()
    metadata = None
    if settings.serves and model_files.checkpoints:
        metadata = resolve_task_metadata(settings, explicit, model_files)
        if explicit.get("vocab_file"):
            paths.check_file("vocab_file", explicit["vocab_file"])
            check_run_vocabulary(*next(iter(model_files.checkpoints.items())), explicit["vocab_file"],
                                 model_files.vocab_file)
        settings = settings.replace_values({
            name: value for name, value in metadata.to_dict().items() if name not in (*sources, "labels")})
    values = resolve_values(sources, explicit, model_files, announce)
    settings = settings.replace_values({**values, "model_files": model_files})
    if metadata:
        values = settings.values()
        settings = settings.replace_values({"served_task": dataclasses.replace(
            metadata, do_lower_case=values["do_lower_case"], strip_accents=values["strip_accents"])})
    settings = settings.add_file_values().replace_values({
        name: value for name, value in settings.values().items() if name in explicit})
    places.check(settings, without=ignored)
    config_name = next((name for name, by in sources.items() if by == CONFIG), None)
    if config_name and not any(getattr(group, "config", None) for group in settings.groups()):
        config_file = settings.values()[config_name]
        config = read_config(config_file)
        settings = settings.replace_values({"config": config})
        if metadata and not is_length_known(explicit, model_files):
            settings = limit_length(settings, min(metadata.max_seq_length, config.max_position_embeddings))
        default = next((field.default for field, _ in settings.fields() if field.name == "max_seq_length"), None)
        _check_length(settings.longest_sequence, config, config_file, is_default=(
            settings.longest_sequence == default and not is_length_known(explicit, model_files)))
    for group in settings.groups():
        group.check_files()
    _announce_vocabulary(settings, ignored, model_files, announce)
    return settings


def _announce_vocabulary(settings, ignored, model_files, announce):
    """Announces unusual lines of the vocabulary that a job reads, and IDs of its model without a token."""
    config = next((group.config for group in settings.groups() if getattr(group, "config", None)), None)
    for field, path in settings.fields():
        if field.name not in VOCABULARIES or field.name in ignored or field.metadata["place"] != places.INPUT_FILE:
            continue
        with contextlib.suppress(InputError, OSError):  # its reader reports a damaged file
            path = path or (field.name == "vocab_file" and model_files.vocab_file)
            vocabulary = read_vocabulary(to_vocab_txt(path)) if path else []
            for message in describe_lines(vocabulary, path and config and config.vocab_size):
                announce(f"note: `{field.name}`={path}: {message}")


def get_value_sources(settings):
    """Returns a dict of setting -> its source next to a checkpoint: CONFIG, VOCABULARY, or CASING."""
    fields = list(settings.fields())
    return {field.name: field.metadata["source"] for field, _ in fields if field.metadata["source"] and (
        not isinstance(field.metadata["required"], str) or is_met(field.metadata["required"], fields))}


def limit_length(settings, max_seq_length):
    """Returns the resolved settings of a job that serves a model, with another maximum length of its inputs."""
    metadata = dataclasses.replace(settings.served_task, max_seq_length=max_seq_length)
    return settings.replace_values({"served_task": metadata, "max_seq_length": max_seq_length})


def read_config(bert_config_file, longest_sequence=0):
    """Returns the BertConfig of a file or a published size.

    Raises:
      InputError: If the file does not exist or is not a config, or if the model has fewer than `longest_sequence`
        positions.
    """
    if bert_config_file in PUBLISHED_SIZES and not os.path.exists(bert_config_file):
        config = BertConfig.from_name(bert_config_file)
    else:
        paths.check_file("bert_config_file", bert_config_file)
        config = read_config_file(bert_config_file)
    _check_length(longest_sequence, config, bert_config_file)
    return config


def _check_length(longest_sequence, config, bert_config_file, is_default=False):
    """Raises InputError if a BertConfig has fewer positions than a sequence."""
    limit = config.max_position_embeddings
    if longest_sequence > limit:
        problem = (f"the default is over the {limit} positions of {bert_config_file}; set it to at most {limit}"
                   if is_default else f"must be at most {limit} (max_position_embeddings of {bert_config_file})")
        raise InputError(problem, "max_seq_length", longest_sequence)


def resolve_values(sources, explicit, model_files, announce):
    """Returns values of settings from files next to a checkpoint, for settings that are not on the command line.

    Args:
      sources: Dict of setting -> CONFIG, VOCABULARY, or CASING.
      explicit, model_files, announce: See `resolve`.

    Returns:
      Dict of setting -> value.

    Raises:
      InputError: See `resolve`.
    """
    return _Resolution(sources, explicit, model_files, announce).values()


class _Resolution:
    """See `resolve_values`."""

    def __init__(self, sources, explicit, model_files, announce):
        self._explicit = {name: value for name, value in explicit.items() if value is not None}
        self._model_files, self._announce = model_files, announce
        self._checkpoint = next((name for name in model_files.checkpoints if name != RUN), None)
        self._config, self._vocabulary = (
            next((name for name, by in sources.items() if by == wanted), None) for wanted in (CONFIG, VOCABULARY))
        self._casing = [name for name, by in sources.items() if by == CASING]

    def values(self):
        """Returns a dict of setting -> value for settings with a source."""
        values = self._config_file() if self._config else {}
        if self._vocabulary:
            values |= self._vocab_file(values) | self._casing_values()
        for name, by in ((self._config, CONFIG), (self._vocabulary, VOCABULARY)):
            if name and name not in values and name not in self._explicit and self._model_files.checkpoints:
                place, path = next(iter(self._model_files.checkpoints.items()))
                raise InputError(f"is required: there is no {FILE_NAMES[by]} next to `{place}`={path}", name)
        return values

    def _config_file(self):
        name = self._config
        if self._explicit.get(name):
            with contextlib.suppress(InputError, OSError):  # explicit values are checked later, others are unused
                self._compare_configs(self._explicit[name], self._model_files.configs.get(self._checkpoint))
            return {}
        return {name: self._model_files.config_file} if self._model_files.config_file else {}

    def _vocab_file(self, values):
        name = self._vocabulary
        if self._explicit.get(name):
            path = to_vocab_txt(self._explicit[name])
            with contextlib.suppress(InputError, OSError):
                self._compare_vocabularies(path, self._model_files.vocabularies.get(self._checkpoint))
            return {name: path}
        original = self._model_files.vocab_file
        if not original:
            return {}
        path = to_vocab_txt(original)
        if self._config in values:
            check_vocabulary(values[self._config], path, original)
        return {name: path}

    def _casing_values(self):
        """Returns the casing that is not explicit; announces where the checkpoint's differs from explicit values."""
        if not self._casing:
            return {}
        try:
            place, tokenizer = self._model_files.casing
        except (InputError, OSError):  # no error if all relevant values are explicit
            if not all(name in self._explicit for name in (self._vocabulary, "do_lower_case")):
                raise
            return {}
        casing = {"do_lower_case": tokenizer.do_lower_case, "strip_accents": tokenizer.strip_accents}
        if tokenizer.strip_accents is None:
            casing["strip_accents"] = tokenizer.do_lower_case
        values = {name: getattr(tokenizer, name) for name in self._casing if name not in self._explicit}
        for name in (each for each in self._casing if each in self._explicit and place == self._checkpoint):
            if casing[name] not in (None, self._explicit[name]) and os.sep in tokenizer.casing_from:
                # (A casing from the name of a published directory has no path; check_casing rejects contradictions.)
                self._note(f"`{name}`={self._explicit[name]} overrides {tokenizer.casing_from} ({casing[name]})")
        if self._explicit.get("do_lower_case") not in (None, tokenizer.do_lower_case):
            values.pop("strip_accents", None)  # from a casing that is not used
        return {name: value for name, value in values.items() if value is not None}

    def _compare_configs(self, explicit, existing):
        """Announces a difference between an explicit config and the one next to the checkpoint, if there is one."""
        if not existing:
            return
        ours, theirs = (read_config(path).to_dict() for path in (explicit, existing))
        name = next((name for name in ours | theirs if ours.get(name) != theirs.get(name)), None)
        if name:
            ours, theirs = (values.get(name, LATER_DEFAULTS.get(name)) for values in (ours, theirs))
            self._note(f"`{self._config}`={explicit} overrides {existing}: {name} is {ours}, not {theirs}")

    def _compare_vocabularies(self, path, existing):
        if existing is not None and read_bytes(to_vocab_txt(existing)) != read_bytes(path):
            self._note(f"`{self._vocabulary}`={path} overrides {existing}, which differs")

    def _note(self, text):
        self._announce(f"note: {text}")
