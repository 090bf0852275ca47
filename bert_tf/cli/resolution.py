"""Resolves settings once: from the command line, files next to a checkpoint, and defaults.

The earlier of these takes precedence:

    settings = resolve(settings, explicit, ModelFiles(find_model_paths(settings)))

If the command line contradicts the directory of a checkpoint, a note is printed to standard error.
(The run in output_dir rejects contradictions.)
"""

import contextlib
import dataclasses
import os

from bert_tf.checkpoints import task_metadata
from bert_tf.checkpoints.directory import CONFIG_NAMES, VOCABULARY_NAMES, read_config_file
from bert_tf.checkpoints.missing_paths import describe_download
from bert_tf.checkpoints.tokenizers import (
    describe_vocabulary_difference,
    read_full_vocabulary,
    to_vocab_txt,
)
from bert_tf.checkpoints.training_run import has_run
from bert_tf.cli import paths, roles, rules
from bert_tf.cli.model_jobs import ModelJobSettings
from bert_tf.cli.settings import check_rules
from bert_tf.config import PUBLISHED_SIZES, BertConfig
from bert_tf.errors import InputError
from bert_tf.tasks.metadata import TASK_FILE, TaskMetadata
from bert_tf.tokenization.vocabulary import describe_lines, get_source

# Source of a setting next to a checkpoint: `source` of bert_tf.cli.settings.setting.
CONFIG = "config"
VOCABULARY = "vocabulary"
CASING = "casing"
# Source -> attribute of ModelFiles, and names of the files for error messages.
_FILES = {CONFIG: ("configs", CONFIG_NAMES), VOCABULARY: ("vocabularies", VOCABULARY_NAMES)}

RUN = "output_dir"  # Setting of a run to resume or use; the others contain checkpoints.


def find_model_paths(settings):
    """Returns the paths to search for unset values.

    Returns:
      Dict of setting -> path of a checkpoint, or directory of a run.
    """
    model_paths = {}
    if isinstance(settings, ModelJobSettings) and settings.model_source:
        model_paths = dict([settings.model_source])
    for field, value in settings.fields():
        if field.metadata["role"] == roles.RUN_FOLDER and value:
            paths.check_run_folder(field.name, value)
            if has_runs(value):
                model_paths[field.name] = value
    return model_paths


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
      Settings of the same class with computed values for `model_files`, `config` (the BertConfig),
      and `served_task` (the TaskMetadata with which a job serves a model).

    Raises:
      InputError: If a setting is required; if values from files violate a rule; if a path is
        invalid; or if a file next to a checkpoint is corrupted, contradicts another, or describes a
        model or tokenizer that this project does not support.
    """
    _reject_replaced(settings, explicit)
    if not isinstance(settings, ModelJobSettings):
        roles.check_roles(settings)
        _check_files(settings)
        _announce_vocabulary(settings, frozenset(), model_files, announce)
        return settings
    return _resolve_model_job(settings, explicit, model_files, announce)


def _resolve_model_job(settings, explicit, model_files, announce):
    """Resolves ModelJobSettings. For the arguments, see `resolve`."""
    ignored = settings.checkpoint_only if settings.exported_model else frozenset()
    _reject_settings_of_checkpoints(settings, explicit, ignored)
    sources = {name: by for name, by in get_value_sources(settings).items() if name not in ignored}
    roles.check_required(settings, without={*sources, *ignored})
    for name, directory in model_files.directories.items():
        if name != RUN:
            directory.check_exists(name)
            directory.check_loadable()
    _check_weights(settings, sources, explicit, model_files)
    metadata = None
    if settings.serves and model_files.paths:
        metadata = resolve_task_metadata(settings, explicit, model_files)
        _check_explicit_vocabulary(explicit, model_files)
        settings = settings.replace_values(
            {
                name: value
                for name, value in metadata.to_dict().items()
                if name not in (*sources, "labels")
            }
        )
    values = resolve_values(sources, explicit, model_files, announce)
    settings = settings.replace_values({**values, "model_files": model_files})
    if metadata:
        settings = _add_served_task(settings, metadata)
    settings = settings.add_file_values().replace_values(
        {name: value for name, value in settings.values().items() if name in explicit}
    )
    check_rules(settings)
    roles.check_roles(settings, without=ignored)
    settings = _add_config(settings, sources, explicit, model_files).add_dependent_values()
    _check_files(settings)
    _announce_vocabulary(settings, ignored, model_files, announce)
    return settings


def _check_files(settings):
    """Raises InputError if files contradict the settings of a group."""
    for group in settings.groups():
        group.check_files()


def _reject_settings_of_checkpoints(settings, explicit, ignored):
    """Raises InputError if a setting on the command line has no effect on an export.

    `ignored` are the names of the settings that an export replaces.
    """
    if name := next((name for name in explicit if name in ignored), None):
        raise InputError(
            "has no effect with `{}`={}, whose settings are fixed by the export; omit it".format(
                *settings.exported_model
            ),
            name,
            explicit[name],
        )


def _reject_replaced(settings, explicit):
    """Raises InputError if a setting on the command line is replaced by another one."""
    fields = list(settings.fields())
    for name, condition in settings.replaced.items():
        if name in explicit and rules.to_condition(condition).is_met(fields):
            raise InputError(
                f"has no effect with {rules.to_condition(condition)}; omit it", name, explicit[name]
            )


def _check_explicit_vocabulary(explicit, model_files):
    """Raises InputError if the vocabulary on the command line does not suit the checkpoint."""
    vocab_file = explicit.get("vocab_file")
    if vocab_file:
        paths.check_file("vocab_file", vocab_file)
        argument, directory = next(iter(model_files.directories.items()))
        directory.check_run_vocabulary(argument, vocab_file)


def _add_served_task(settings, metadata):
    """Returns settings whose `served_task` is the TaskMetadata with the resolved casing."""
    values = settings.values()
    served_task = dataclasses.replace(
        metadata, do_lower_case=values["do_lower_case"], strip_accents=values["strip_accents"]
    )
    return settings.replace_values({"served_task": served_task})


def _add_config(settings, sources, explicit, model_files):
    """Returns settings with the BertConfig of their file.

    Its positions limit the length of the model's inputs. For the arguments, see `resolve` and
    `resolve_values`. Raises InputError if the model has fewer positions than a sequence.
    """
    name = next((name for name, source in sources.items() if source == CONFIG), None)
    if name is None or any(getattr(group, "config", None) for group in settings.groups()):
        return settings
    config_file = settings.values()[name]
    config = read_model_config(config_file)
    settings = settings.replace_values({"config": config})
    if settings.serves and model_files.paths and "max_seq_length" not in explicit:
        stored = next(iter(model_files.task_metadata.values()), None)
        length = settings.served_task.max_seq_length
        if not (stored and stored.max_seq_length):
            length = min(length, config.max_position_embeddings)
        settings = settings.replace_values(
            {
                "served_task": dataclasses.replace(settings.served_task, max_seq_length=length),
                "max_seq_length": length,
            }
        )
    _check_length(settings.num_positions, config, config_file)
    return settings


def _check_weights(settings, sources, explicit, model_files):
    """Raises InputError if there is neither a checkpoint nor the required files of a model."""
    name = settings.checkpoint_setting
    values = settings.values()
    required = [
        field.name
        for field, _ in settings.fields()
        if rules.find_required(field) and sources.get(field.name) == VOCABULARY
    ]
    if (
        name in values
        and not model_files.paths
        and required
        and not any(map(explicit.get, required))
    ):
        raise InputError(
            "is required, or `bert_config_file` and `vocab_file` for a model without pre-training; "
            + describe_download(),
            name,
        )


def resolve_task_metadata(settings, explicit, model_files):
    """Returns the TaskMetadata of a job that serves a model.

    Other files can still determine the casing.

    Args:
      settings: Settings with `task`, the required kind of the model, or None, and `labels`, the
        explicit label names.
      explicit, model_files: See `resolve`.

    Raises:
      InputError: If the task is unknown, or if a setting contradicts task.json.
    """
    argument, path = next(iter(model_files.paths.items()))
    stored = model_files.task_metadata.get(argument)
    kind = settings.task or (stored.kind if stored else settings.default_kind)
    if not kind:
        kinds = next(
            (field.metadata["choices"] for field, _ in settings.fields() if field.name == "task"),
            (),
        )
        raise InputError(
            f"has no {TASK_FILE} that specifies the task"
            + (f"; set `task` to one of {', '.join(kinds)}" if kinds else ""),
            argument,
            path,
        )
    values = settings.values()
    labels = settings.labels
    names = [field.name for field in dataclasses.fields(TaskMetadata)]
    requested = {name: explicit[name] for name in names if explicit.get(name) is not None}
    if labels:
        requested["labels"] = labels
    defaults = {name: values[name] for name in names if values.get(name) is not None}
    return task_metadata.resolve_metadata(stored, kind, requested, defaults, f"`{argument}`={path}")


def _announce_vocabulary(settings, ignored, model_files, announce):
    """Announces unusual lines of the vocabulary, and IDs of the model without a token."""
    config = next(
        (group.config for group in settings.groups() if getattr(group, "config", None)), None
    )
    for field, path in settings.fields():
        if (
            field.name != "vocab_file"
            or field.name in ignored
            or field.metadata["role"] != roles.INPUT_FILE
        ):
            continue
        with contextlib.suppress(InputError, OSError):  # its reader reports a damaged file
            path = path or model_files.vocab_file
            vocabulary = read_full_vocabulary(to_vocab_txt(path)) if path else []
            for message in describe_lines(vocabulary, path and config and config.vocab_size):
                announce(f"note: `vocab_file`={get_source(path)}: {message}")


def get_value_sources(settings):
    """Returns the sources of settings next to a checkpoint.

    Returns:
      Dict of setting -> CONFIG, VOCABULARY, or CASING.
    """
    fields = list(settings.fields())
    sources = {}
    for field, _ in fields:
        rule = rules.find_required(field)
        if field.metadata["source"] and (rule is None or rule.is_relevant(fields)):
            sources[field.name] = field.metadata["source"]
    return sources


def read_model_config(bert_config_file, num_positions=0):
    """Returns the BertConfig of a file or a published size.

    Raises:
      InputError: If the file does not exist or is not a config, or if the model has fewer than
        `num_positions` positions.
    """
    if bert_config_file in PUBLISHED_SIZES and not os.path.exists(bert_config_file):
        config = BertConfig.from_name(bert_config_file)
    else:
        paths.check_file("bert_config_file", bert_config_file)
        config = read_config_file(bert_config_file)
    _check_length(num_positions, config, bert_config_file)
    return config


def _check_length(num_positions, config, bert_config_file):
    """Raises InputError if a BertConfig has fewer positions than a sequence."""
    max_length = config.max_position_embeddings
    if num_positions > max_length:
        raise InputError(
            f"must be at most {max_length} (max_position_embeddings of {bert_config_file})",
            "max_seq_length",
            num_positions,
        )


def resolve_values(sources, explicit, model_files, announce):
    """Returns values from files next to a checkpoint for settings not on the command line.

    Args:
      sources: Dict of setting -> CONFIG, VOCABULARY, or CASING.
      explicit, model_files, announce: See `resolve`.

    Returns:
      Dict of setting -> value.

    Raises:
      InputError: See `resolve`.
    """
    names = {source: name for name, source in sources.items()}
    main_argument = next((name for name in model_files.paths if name != RUN), None)
    values = {}
    for source, (attribute, file_names) in _FILES.items():
        name = names.get(source)
        if name is None:
            continue
        if path := explicit.get(name):
            path = values[name] = to_vocab_txt(path)
            # Explicit values are checked later, others are unused.
            with contextlib.suppress(InputError, OSError):
                existing = getattr(model_files, attribute).get(main_argument)
                if (
                    existing
                    and source == CONFIG
                    and read_model_config(path) != read_model_config(existing)
                ):
                    announce(f"note: `{name}`={path} overrides {existing}")
                if (
                    existing
                    and source == VOCABULARY
                    and (difference := describe_vocabulary_difference(path, existing))
                ):
                    announce(f"note: `{name}`={get_source(path)} overrides {existing}{difference}")
        elif existing := next(iter(getattr(model_files, attribute).values()), None):
            values[name] = to_vocab_txt(existing)
        elif explicit.get(name) is None and model_files.paths:
            argument, directory = next(iter(model_files.directories.items()))
            where = "in the directory" if directory.name is None else "next to"
            raise InputError(
                f"is required: there is no {file_names} {where} `{argument}`={directory.path}",
                name,
            )
    if VOCABULARY in names and CASING in names:
        explicit_names = {name for name, value in explicit.items() if value is not None}
        try:
            argument, tokenizer = model_files.casing
        except (InputError, OSError):  # no error if all relevant values are explicit
            if not explicit_names >= {names[VOCABULARY], "do_lower_case"}:
                raise
            return values
        notes_on = tokenizer.casing_from if argument == main_argument else None
        casing = [name for name, source in sources.items() if source == CASING]
        values |= _resolve_casing(
            casing, {name: explicit[name] for name in explicit_names}, tokenizer, notes_on, announce
        )
    return values


def _resolve_casing(names, explicit, tokenizer, path, announce):
    """Returns the casing that is not explicit; announces where a file differs from explicit values.

    Args:
      names: Settings of the casing, a list of str.
      explicit: Dict of explicit settings with a value.
      tokenizer: TokenizerFiles of a checkpoint.
      path: Path of the file with its casing; None if it may differ. A casing from the name of a
        published directory has no path; check_casing rejects contradictions.
      announce: See `resolve`.
    """
    stored = {"do_lower_case": tokenizer.do_lower_case, "strip_accents": tokenizer.strip_accents}
    values = {name: stored[name] for name in names if name not in explicit}
    if stored["strip_accents"] is None:
        stored["strip_accents"] = tokenizer.do_lower_case
    for name in names:
        if (
            name in explicit
            and stored[name] not in (None, explicit[name])
            and path
            and os.sep in path
        ):
            announce(f"note: `{name}`={explicit[name]} overrides {path} ({stored[name]})")
    if explicit.get("do_lower_case") not in (None, tokenizer.do_lower_case):
        values.pop("strip_accents", None)  # from a casing that is not used
    return {name: value for name, value in values.items() if value is not None}
