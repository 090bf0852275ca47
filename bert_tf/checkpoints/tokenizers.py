"""The vocabulary, its added tokens, and the casing: comparing, converting, and saving them."""

import atexit
import contextlib
import dataclasses
import itertools
import json
import os
import shutil
import tempfile

from bert_tf import files
from bert_tf.checkpoints.huggingface_tokenizer import get_vocabulary
from bert_tf.errors import InputError, name_file
from bert_tf.files import new_file, read_bytes, read_json_object
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
from bert_tf.tokenization.vocabulary import VOCABULARY_NAME, get_source, read_vocabulary, set_source


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
    # AddedTokens to save with the vocabulary; None for those in its directory.
    added_tokens: tuple | None = None


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
    added = ()
    # The tokens can come from a tokenizer.json, which takes precedence over this vocab.txt.
    with contextlib.suppress(InputError):
        added = read_added_tokens(vocab_file)
    return [*read_bytes(vocab_file).splitlines(), *(token.content.encode() for token in added)]


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

    The next job finds both next to the model, and so does transformers.

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

    Vocabularies are read, compared, and copied as lines.
    """
    if os.path.basename(path) != TOKENIZER_NAME or not files.at(path).exists():
        return path
    pieces = get_vocabulary(read_json_object(path), path)
    folder = os.path.dirname(path)
    with name_file(folder):
        added_tokens = parse_added_tokens(read_token_files(folder), lambda: pieces)
    return write_temporary_vocabulary(path, pieces, added_tokens)


def write_temporary_vocabulary(source, pieces, added_tokens=()):
    """Writes a vocabulary file and AddedTokens that are deleted at process exit.

    `read_added_tokens` reads them: the added tokens of a vocabulary are always those in its
    directory, so no job requires another setting for them. Returns the path of the vocabulary;
    messages about it name the file `source`.
    """
    folder = tempfile.mkdtemp(prefix="vocabulary_")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    written = os.path.join(folder, VOCABULARY_NAME)
    set_source(written, source)
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
      contents: List of str. Tokens that the file contains, or that its directory adds, are omitted.

    Returns:
      Path of a temporary vocabulary with them, or `vocab_file` if there are no new ones.
    """
    pieces = read_vocabulary(vocab_file)
    existing = read_added_tokens(vocab_file)
    known = {token.content for token in existing}
    added = to_added_tokens(
        [*existing, *(content for content in contents if content not in known)], pieces
    )
    return (
        vocab_file
        if added == existing
        else write_temporary_vocabulary(get_source(vocab_file), pieces, added)
    )
