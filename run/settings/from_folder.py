"""What the folder of a checkpoint says of a model, for settings that are not given by hand. Free of TensorFlow.

    settings = from_folder.complete(flags.read(SETTINGS), flags.given())

A setting that is given wins; where it contradicts the folder of the checkpoint, a line on standard error says so. (The
run in output_dir refuses what contradicts it.)
"""

import atexit
import contextlib
import dataclasses
import os
import shutil
import sys
import tempfile

from bert_tf import model_folder
from bert_tf.cli import paths
from bert_tf.cli.script import with_flags
from bert_tf.errors import InputError
from bert_tf.files import exists, read_bytes
from bert_tf.model_folder.configs import GARDEN_NAME, ORIGINAL_NAME
from bert_tf.model_folder.tokenizers import TOKENIZER_NAME, VOCABULARY_NAME, find_vocabulary
from bert_tf.tokenization.vocabulary import read_vocabulary
from run.settings.model import read_config

CHECKPOINT = "init_checkpoint"
CASING = ("do_lower_case", "strip_accents")
LOOKED_FOR = {"bert_config_file": (ORIGINAL_NAME, f"config.json or {GARDEN_NAME}"),
              "vocab_file": (VOCABULARY_NAME, TOKENIZER_NAME)}
RUNS = ("checkpoint", "run_1/checkpoint")  # that show a folder to be of a run, or of several of a task


def complete(settings, given, tokenizer="tokenizer"):
    """Settings with what lies with their checkpoint, or in their output_dir, where nothing was given.

    Args:
      settings: Settings with a group `model` of ModelSettings, and perhaps `training` of TrainingSettings.
      given: dict of the settings that were given and their values.
      tokenizer: name of the group that holds `vocab_file`, `do_lower_case` and `strip_accents`, or some of them;
        None where no vocabulary is needed.

    Returns:
      Settings of the same class.

    Raises:
      InputError: a file in the folder that is damaged, of a model or a tokenizer that this project does not compute, or
        that contradicts another; a checkpoint that is a pickle, or beside which a file is missing that is not given.
    """
    places = _places(settings)
    names = {"model": ("bert_config_file",)}
    if tokenizer:
        names[tokenizer] = _fields(getattr(settings, tokenizer)) & {"vocab_file", *CASING}
    if CHECKPOINT in places:
        with paths.errors_of(CHECKPOINT):  # the first look at it
            model_folder.check_no_pickle(places[CHECKPOINT])
    found = find(places, given, {name for group in names.values() for name in group})
    return dataclasses.replace(settings, **{
        group: dataclasses.replace(getattr(settings, group), **{name: found[name] for name in wanted if name in found})
        for group, wanted in names.items()})


def find(places, given, names):
    """The values of settings that are given, or that the folders of checkpoints tell.

    Args:
      places: dict of the setting that names a checkpoint, a folder, a prefix or a file -> its path; one counts before
        those after it.
      given: as `complete`'s.
      names: those of "bert_config_file", "vocab_file", "do_lower_case" and "strip_accents" that are wanted.

    Returns:
      Dict of name -> value; one that neither is given nor found is missing. A vocabulary that a tokenizer.json holds is
      a vocab.txt in a temporary folder.

    Raises:
      InputError: as `complete`'s.
    """
    found = {name: given[name] for name in names if given.get(name) is not None}
    if "bert_config_file" in names:
        found |= _config(places, given)
    if "vocab_file" in names:
        found |= _tokenizer(places, given, found.get("bert_config_file"), {*names})
    for name, (usual, others) in LOOKED_FOR.items():
        if name in names and name not in found and places:
            place, path = next(iter(places.items()))
            raise InputError(f"`{name}` is needed: there is no {usual} beside `{place}`={path}, nor a {others}")
    return found


def _places(settings):
    """The checkpoint of settings, and the folder of a run that is to be resumed or evaluated, as `find` takes them."""
    places = {CHECKPOINT: settings.model.init_checkpoint} if settings.model.init_checkpoint else {}
    training = getattr(settings, "training", None)
    if training is not None and training.output_dir:
        paths.check_output_dir("output_dir", training.output_dir)
        if any(exists(os.path.join(training.output_dir, name)) for name in RUNS):
            places["output_dir"] = training.output_dir
    return places


def _config(places, given):
    """{"bert_config_file": path} of the first place that has one, {} where it is given or there is none."""
    name = "bert_config_file"
    if given.get(name):
        with contextlib.suppress(InputError, OSError):  # what is given is checked later, the other does not count
            _compare_configs(given[name], CHECKPOINT in places and model_folder.find_config(places[CHECKPOINT]))
        return {}
    path = next(filter(None, map(model_folder.find_config, places.values())), None)
    return {name: path} if path else {}


def _tokenizer(places, given, config_file, names):
    """The values of "vocab_file" and of CASING, those of `names` that are given or that the places tell."""
    files = _tokenizer_files(places, given, names)
    of_checkpoint = files.get(CHECKPOINT, model_folder.TokenizerFiles())
    found, there = {}, next((each.vocab_file for each in files.values() if each.vocab_file), None)
    if given.get("vocab_file"):
        found["vocab_file"] = as_vocab_txt(given["vocab_file"])
        with contextlib.suppress(InputError, OSError):
            _compare_vocabularies(found["vocab_file"], of_checkpoint.vocab_file)
    elif there:
        found["vocab_file"] = as_vocab_txt(there)
        if config_file and not given.get("bert_config_file"):
            _check_together(config_file, there, found["vocab_file"])
    casing = next((each for each in files.values() if each.casing_from), of_checkpoint)
    return found | _casing(given, casing, names, notes=casing is of_checkpoint)


def _tokenizer_files(places, given, names):
    """{place: TokenizerFiles}; one that cannot be used does no harm where all that counts is given."""
    if not names & {*CASING}:
        return {place: model_folder.TokenizerFiles(find_vocabulary(path)) for place, path in places.items()}
    files = {}
    for place, path in places.items():
        try:
            files[place] = model_folder.find_tokenizer(path)
        except (InputError, OSError):
            if not all(given.get(name) is not None for name in ("vocab_file", "do_lower_case")):
                raise
    return files


def _casing(given, there, names, notes):
    """The values of CASING that TokenizerFiles tell and that are not given; with `notes` says where the two differ."""
    found, told = {}, {"do_lower_case": there.do_lower_case, "strip_accents": there.strip_accents}
    if there.strip_accents is None:
        told["strip_accents"] = there.do_lower_case
    for name in filter(names.__contains__, CASING):
        if given.get(name) is None:
            found[name] = getattr(there, name)
        elif notes and told[name] not in (None, given[name]) and os.sep in there.casing_from:
            # (A casing that the name of a published folder tells has no path; check_casing refuses to differ from it.)
            _note(f"`{name}`={given[name]}: {there.casing_from} says {told[name]}")
    if given.get("do_lower_case") not in (None, there.do_lower_case):
        found.pop("strip_accents", None)  # of a casing that does not count
    return {name: value for name, value in found.items() if value is not None}


def as_vocab_txt(path):
    """The path of a vocabulary of one piece a line: itself, or a temporary file for that of a tokenizer.json.

    What reads, compares and copies a vocabulary takes it as lines. InputError names a tokenizer.json that no model can
    use, since later messages name the temporary file.
    """
    if os.path.basename(path) != TOKENIZER_NAME or not exists(path):
        return path
    pieces = model_folder.pieces_of_tokenizer_json(path)
    folder = tempfile.mkdtemp(prefix="vocabulary_")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    written = os.path.join(folder, VOCABULARY_NAME)
    with open(written, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{piece}\n" for piece in pieces)
    try:
        read_vocabulary(written)
    except InputError as error:
        raise InputError(str(error).replace(written, f"{path}, as lines")) from error
    return written


def _check_together(config_file, path, vocab_file):
    """Raises InputError if the vocabulary of `path`, as lines in `vocab_file`, is larger than the config's model."""
    try:
        model_folder.check_vocabulary(config_file, vocab_file)
    except InputError as error:
        raise InputError(str(error).replace(vocab_file, path)) from error


def _compare_configs(given, there):
    """Says in a line in what a config that is given differs from the one beside the checkpoint, if it does."""
    if not there:
        return
    ours, theirs = (read_config(path, 1).to_dict() for path in (given, there))
    name = next((name for name in ours | theirs if ours.get(name) != theirs.get(name)), None)
    if name:
        _note(f"`bert_config_file`={given}: says {name} {ours.get(name)}, {there} says {theirs.get(name)}")


def _compare_vocabularies(given, there):
    if there is not None and read_bytes(as_vocab_txt(there)) != read_bytes(given):
        _note(f"`vocab_file`={given}: is another vocabulary than {there}")


def _note(text):
    print(f"note: {with_flags(text)}; what is given counts", file=sys.stderr)


def _fields(settings):
    return {field.name for field in dataclasses.fields(settings)}
