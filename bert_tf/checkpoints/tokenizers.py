"""The vocabulary and the casing of a model: comparing, converting, and saving them."""

import atexit
import dataclasses
import itertools
import json
import os
import shutil
import tempfile

from bert_tf import files
from bert_tf.checkpoints.huggingface_tokenizer import (
    TOKENIZER_CONFIG_NAME,
    TOKENIZER_NAME,
    get_vocabulary,
)
from bert_tf.checkpoints.original import VOCABULARY_NAME
from bert_tf.files import new_file, read_bytes, read_json_object


@dataclasses.dataclass(frozen=True)
class TokenizerFiles:
    """A vocabulary and a casing."""

    # Path of vocab.txt, or else of the tokenizer.json that contains the vocabulary.
    vocab_file: str | None = None
    do_lower_case: bool | None = None  # None if unknown.
    # None if the tokenizer removes accents exactly if it lowercases.
    strip_accents: bool | None = None
    # Path of the file, or name of the directory, that determines the casing.
    casing_from: str | None = None


def describe_vocabulary_difference(vocab_file, existing):
    """Returns how many IDs have another entry than in the vocabulary of a model, for a note.

    "" if none has.
    """
    ours, theirs = (read_bytes(to_vocab_txt(path)).splitlines() for path in (vocab_file, existing))
    number = sum(our != their for our, their in itertools.zip_longest(ours, theirs))
    return (
        f": {number:,} of {max(len(ours), len(theirs)):,} IDs have another token" if number else ""
    )


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

    This is the path itself, or that of a temporary copy for a tokenizer.json.

    Vocabularies are read, compared, and copied as lines; messages about one of them name the copy.
    """
    if os.path.basename(path) != TOKENIZER_NAME or not files.at(path).exists():
        return path
    return write_temporary_vocabulary(get_vocabulary(read_json_object(path), path))


def write_temporary_vocabulary(pieces):
    """Writes tokens to a vocabulary file that is deleted at process exit; returns its path."""
    folder = tempfile.mkdtemp(prefix="vocabulary_")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    written = os.path.join(folder, VOCABULARY_NAME)
    with open(written, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{piece}\n" for piece in pieces)
    return written
