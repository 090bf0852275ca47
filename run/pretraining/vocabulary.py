"""The vocabulary and the casing of a pre-training run.

They are from flags, from its records, or from its checkpoint.
"""

import dataclasses

from bert_tf import files
from bert_tf.checkpoints import TokenizerFiles
from bert_tf.checkpoints.tokenizers import describe_vocabulary_difference, to_vocab_txt
from bert_tf.cli import paths
from bert_tf.cli.resolution import RUN
from bert_tf.cli.script import warn
from bert_tf.errors import InputError
from bert_tf.tokenization.vocabulary import get_source
from data_prep.pretraining.vocabularies import read_vocabularies
from data_prep.reading import compute_digest
from run.pretraining import phases


def find_tokenizer(settings):
    """Finds the TokenizerFiles to save with the model, and prints notes about differences.

    `settings`: PretrainingSettings.

    Raises:
      InputError: If records were created with another vocabulary than other records, or than
        `vocab_file`.
    """
    known = _read_record_vocabulary(settings)
    setting, near = _find_near_checkpoint(settings.model.model_files)
    vocab_file = settings.vocab_file or near.vocab_file
    casing = known or near
    if known:
        if not settings.vocab_file:
            vocab_file = _find_unchanged(known)
        if near.do_lower_case not in (None, known.do_lower_case):
            warn(
                f"note: the records have do_lower_case {known.do_lower_case} ({known.run_file}), "
                f"which overrides {near.casing_from} ({near.do_lower_case})"
            )
    if settings.vocab_file:
        paths.check_file("vocab_file", vocab_file)
        if known and compute_digest(to_vocab_txt(vocab_file)) != known.digest:
            raise InputError(
                f"differs from the vocabulary of the records, {known.path} (in {known.run_file}); "
                "omit `vocab_file`, or create the records again",
                "vocab_file",
                vocab_file,
            )
    if (
        vocab_file
        and near.vocab_file
        and setting != RUN
        and (difference := describe_vocabulary_difference(vocab_file, near.vocab_file))
    ):
        warn(
            f"note: the vocabulary {get_source(vocab_file)} overrides the one of "
            f"`{setting}`={settings.values()[setting]}{difference}"
        )
    return TokenizerFiles(vocab_file, casing.do_lower_case, casing.strip_accents)


def _read_record_vocabulary(settings):
    """Returns the RecordVocabulary of the records of PretrainingSettings.

    None without a run.json next to them.
    """
    files = set()
    for phase in phases.get_phases(settings):
        for name in ("input_file", "eval_input_file"):
            if pattern := getattr(phase.settings, name):
                files.update(paths.expand_globs(name, pattern))
    first, *others = read_vocabularies(sorted(files)) or (None,)
    for other in others:
        if other.digest != first.digest:
            raise InputError(
                f"the records of {first.run_file} and {other.run_file} were created with different "
                "vocabularies",
                "input_file",
                settings.input_file,
            )
    return first


def _find_unchanged(known):
    """Returns the path of the vocabulary of a RecordVocabulary.

    None, after a note, if it is not found unchanged.
    """
    if files.at(known.path).exists() and compute_digest(to_vocab_txt(known.path)) == known.digest:
        return known.path
    warn(
        f"note: the vocabulary of the records, {known.path}, is missing or was changed, so it is "
        "not saved with the model; set `vocab_file`"
    )
    return None


def _find_near_checkpoint(model_files):
    """Returns the setting and TokenizerFiles of the first checkpoint with a vocabulary.

    `model_files`: ModelFiles with the checkpoints, or None.

    The vocabulary is a vocab.txt. Without a checkpoint, all values are None.
    """
    for setting, tokenizer in (model_files.tokenizers if model_files else {}).items():
        if tokenizer.vocab_file:
            return setting, dataclasses.replace(
                tokenizer, vocab_file=to_vocab_txt(tokenizer.vocab_file)
            )
    return None, TokenizerFiles()
