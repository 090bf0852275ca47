"""Finds the files next to checkpoints, and records their sources.

These are the config, the vocabulary, the casing, and the task.

    files = ModelFiles({"init_checkpoint": "uncased_L-12_H-768_A-12", "output_dir": "mrpc"})

Each is searched on first use, so that damage in an unused file is not an error.
"""

import atexit
import dataclasses
import functools
import itertools
import json
import os
import shutil
import tempfile

from bert_tf import files
from bert_tf.errors import InputError, name_file
from bert_tf.files import new_file, read_bytes
from bert_tf.latest_checkpoint import RUN_FILE
from bert_tf.model_folder import task_metadata
from bert_tf.model_folder.configs import GARDEN_NAME, ORIGINAL_NAME, find_config
from bert_tf.model_folder.directories import find_file
from bert_tf.model_folder.tokenizers import (
    VOCABULARY_NAME,
    TokenizerFiles,
    find_tokenizer,
    find_vocabulary,
    read_tokenizer_json_vocabulary,
)
from bert_tf.tasks.metadata import TASK_FILE
from bert_tf.tokenization.added_tokens import extend_vocabulary, to_added_tokens
from bert_tf.tokenization.token_files import (
    DECODER,
    TOKENIZER_CONFIG_NAME,
    TOKENIZER_NAME,
    parse_added_tokens,
    read_added_tokens,
    read_token_files,
    to_decoder,
)
from bert_tf.tokenization.vocabulary import read_vocabulary

# Names of the files that can contain a setting, for error messages.
CONFIG_NAMES = f"{ORIGINAL_NAME}, config.json, or {GARDEN_NAME}"
VOCABULARY_NAMES = f"{VOCABULARY_NAME} or {TOKENIZER_NAME}"


@dataclasses.dataclass(frozen=True)
class ModelFiles:
    """Files next to checkpoints; reading an attribute raises InputError if a file is corrupted.

    Attributes:
      checkpoints: Dict of argument -> checkpoint: directory, prefix, or file. The first takes
        precedence.
    """

    checkpoints: dict

    @functools.cached_property
    def configs(self):
        """Dict of argument -> path of the config."""
        return self._find_each(find_config)

    @functools.cached_property
    def vocabularies(self):
        """Dict of argument -> path of the vocabulary, in a vocab.txt or a tokenizer.json."""
        return self._find_each(find_vocabulary)

    @functools.cached_property
    def tokenizers(self):
        """Dict of argument -> TokenizerFiles, whose `casing_from` is the source of the casing."""
        return self._find_each(find_tokenizer)

    @functools.cached_property
    def task_metadata(self):
        """Dict of argument -> TaskMetadata with which it is served."""
        return self._find_each(task_metadata.read_to_serve)

    @property
    def vocab_file(self):
        """Path of the first vocabulary, or None."""
        return next(iter(self.vocabularies.values()), None)

    @property
    def casing(self):
        """(argument, TokenizerFiles) of the first checkpoint with a known casing.

        (None, TokenizerFiles()) if there is none.
        """
        return next(
            ((name, files) for name, files in self.tokenizers.items() if files.casing_from),
            (None, TokenizerFiles()),
        )

    def _find_each(self, find_one):
        found = {name: find_one(path) for name, path in self.checkpoints.items()}
        return {name: result for name, result in found.items() if result is not None}


def check_run_vocabulary(argument, path, vocab_file, existing):
    """Raises InputError if an explicit vocabulary differs from that of a checkpoint's run.

    The path of the checkpoint is the value of `argument`. `existing`: Path of the vocabulary next
    to it, or None.
    """
    if (
        existing
        and find_file(path, TASK_FILE, RUN_FILE)
        and not is_same_vocabulary(existing, vocab_file)
    ):
        raise InputError(
            f"differs from the vocabulary that `{argument}`={path} was trained with, {existing}",
            "vocab_file",
            vocab_file,
        )


def describe_vocabulary_difference(vocab_file, existing):
    """Returns how many IDs have another entry than in the vocabulary of a model, for a note.

    "" if none has.
    """
    ours, theirs = map(_read_lines, map(to_vocab_txt, (vocab_file, existing)))
    number = sum(our != their for our, their in itertools.zip_longest(ours, theirs))
    return (
        f": {number:,} of {max(len(ours), len(theirs)):,} IDs have another token" if number else ""
    )


def _read_lines(vocab_file):
    """Returns the lines of a vocab.txt and its added tokens, a list of bytes."""
    added = [token.content.encode() for token in read_added_tokens(vocab_file)]
    return [*read_bytes(vocab_file).splitlines(), *added]


def is_same_vocabulary(path, other):
    """Returns whether two vocabularies have the same lines and the same added tokens."""
    path, other = map(to_vocab_txt, (path, other))
    return read_bytes(path) == read_bytes(other) and (
        read_added_tokens(path) == read_added_tokens(other)
    )


def read_full_vocabulary(vocab_file):
    """Returns the token of each ID, a list of str, with the added tokens of a vocab.txt."""
    return extend_vocabulary(read_vocabulary(vocab_file), read_added_tokens(vocab_file))


def save_tokenizer(folder, tokenizer, **settings):
    """Writes vocab.txt and tokenizer_config.json to the directory of a model.

    The next job finds both next to the model.

    Unknown parts of the TokenizerFiles are not written.

    `settings`: Further settings of tokenizer_config.json.
    """
    for name, content in to_saved_files(tokenizer, **settings).items():
        path = os.path.join(folder, name)
        if not (files.at(path).exists() and read_bytes(path) == content):
            with new_file(path, "wb") as file:
                file.write(content)


def to_saved_files(tokenizer, **settings):
    """Returns the files of `save_tokenizer`: dict of name to bytes."""
    saved = (
        {VOCABULARY_NAME: read_bytes(to_vocab_txt(tokenizer.vocab_file))}
        if tokenizer.vocab_file
        else {}
    )
    added_tokens = tokenizer.added_tokens
    if added_tokens is None and tokenizer.vocab_file:
        added_tokens = read_added_tokens(to_vocab_txt(tokenizer.vocab_file))
    if added_tokens:
        settings |= {DECODER: to_decoder(added_tokens)}
    if tokenizer.do_lower_case is not None:
        settings |= {"do_lower_case": tokenizer.do_lower_case}
    if settings:
        settings |= {"strip_accents": tokenizer.strip_accents}
        saved[TOKENIZER_CONFIG_NAME] = (
            f"{json.dumps(settings, indent=2, sort_keys=True)}\n".encode()
        )
    return saved


def to_vocab_txt(path):
    """Returns the path of a vocabulary with one token per line.

    This is the path itself, or that of a temporary copy for a tokenizer.json, which
    `read_added_tokens` reads like the original.

    Vocabularies are read, compared, and copied as lines; messages about one of them name the copy.
    """
    if os.path.basename(path) != TOKENIZER_NAME or not files.at(path).exists():
        return path
    pieces = read_tokenizer_json_vocabulary(path)
    with name_file(os.path.dirname(path)):
        added_tokens = parse_added_tokens(read_token_files(os.path.dirname(path)), pieces)
    return write_temporary_vocabulary(pieces, added_tokens)


def write_temporary_vocabulary(pieces, added_tokens=()):
    """Writes a vocabulary file and AddedTokens that are deleted at process exit.

    `read_added_tokens` reads them. Returns the path of the vocabulary.
    """
    folder = tempfile.mkdtemp(prefix="vocabulary_")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    written = os.path.join(folder, VOCABULARY_NAME)
    with open(written, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{piece}\n" for piece in pieces)
    if added_tokens:
        with open(os.path.join(folder, TOKENIZER_CONFIG_NAME), "w", encoding="utf-8") as file:
            json.dump({DECODER: to_decoder(added_tokens)}, file)
    return written


def add_tokens(vocab_file, contents):
    """Adds tokens to a vocabulary.

    Args:
      vocab_file: Path of a vocab.txt.
      contents: List of str. Those that it contains, or that its directory adds, are omitted.

    Returns:
      Path of a temporary vocabulary with them, or `vocab_file` if there are no new ones.
    """
    pieces = read_vocabulary(vocab_file)
    existing = read_added_tokens(vocab_file)
    known = {token.content for token in existing}
    added = to_added_tokens(
        [*existing, *(content for content in contents if content not in known)], pieces
    )
    return vocab_file if added == existing else write_temporary_vocabulary(pieces, added)
