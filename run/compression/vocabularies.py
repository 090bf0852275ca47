"""Reduction of a vocabulary to the tokens that texts use."""

import atexit
import os
import shutil
import tempfile

import numpy as np
from tqdm import tqdm

from bert_tf import files
from bert_tf.cli import paths
from bert_tf.model_folder.tokenizers import VOCABULARY_NAME
from bert_tf.tokenization.vocabulary import SPECIAL_PIECES, SUFFIX_INDICATOR

LINES_AT_ONCE = 4096


def write_vocabulary(tokenizer, ids):
    """Writes part of a vocabulary, int [n], to a file that is deleted at process exit; returns its path."""
    folder = tempfile.mkdtemp(prefix="vocabulary_")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = os.path.join(folder, VOCABULARY_NAME)
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{tokenizer.vocabulary[number]}\n" for number in ids)
    return path


def find_used_ids(corpus, tokenizer):
    """Returns the IDs to keep: tokens that a corpus uses, special tokens, and the corpus's single characters.

    WordPiece matches the longest token first, so removing unused tokens does not change how the corpus's words are
    split. Its characters are kept as tokens, also within words, so that other words of the same alphabet can be
    spelled. A word with a character that the corpus lacks becomes [UNK].

    Args:
      corpus: Paths of UTF-8 text files, such as training data.
      tokenizer: BertTokenizer.

    Returns:
      int [n], ascending.

    Raises:
      InputError: If a file does not exist; names `prune_vocabulary` and the file.
    """
    used = np.zeros(len(tokenizer.vocabulary), bool)
    for path in corpus:
        paths.check_file("prune_vocabulary", path)
        decoder = files.LineDecoder()
        lines = files.read_lines(path, decoder)
        decoder.tell(path)
        for start in tqdm(range(0, len(lines), LINES_AT_ONCE), desc="tokens in use", dynamic_ncols=True):
            used[tokenizer.tokenize(lines[start : start + LINES_AT_ONCE]).flat_values.numpy()] = True
    bare = [token.removeprefix(SUFFIX_INDICATOR) for token in tokenizer.vocabulary]
    characters = {character for number in np.flatnonzero(used) for character in bare[number]}
    for number, token in enumerate(tokenizer.vocabulary):
        used[number] |= token in SPECIAL_PIECES or bare[number] in characters
    return np.flatnonzero(used)
