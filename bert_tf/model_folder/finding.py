"""What lies with checkpoints: the config, the vocabulary, the casing, the task, and where each is from.

    found = find({"init_checkpoint": "uncased_L-12_H-768_A-12", "output_dir": "mrpc"})

Each is looked for when it is first used, so that damage in a file that nobody needs is no error.
"""

import atexit
import dataclasses
import functools
import os
import shutil
import tempfile

from bert_tf.files import exists
from bert_tf.model_folder import task_metadata
from bert_tf.model_folder.configs import find_config
from bert_tf.model_folder.tokenizers import (
    TOKENIZER_NAME,
    VOCABULARY_NAME,
    TokenizerFiles,
    find_tokenizer,
    find_vocabulary,
    pieces_of_tokenizer_json,
)
from bert_tf.model_folder.weights import check_no_pickle
from bert_tf.tokenization.vocabulary import read_vocabulary


def find(places):
    """The Found of a dict of argument -> checkpoint, a folder, a prefix, or a file. Earlier ones take precedence."""
    return Found(dict(places))


@dataclasses.dataclass(frozen=True)
class Found:
    """What lies with checkpoints; reading an attribute raises InputError for a damaged file.

    Attributes:
      places: dict of argument -> checkpoint.
    """

    places: dict

    def check_no_pickle(self):
        """Raises InputError if a checkpoint is a pickle."""
        for path in self.places.values():
            check_no_pickle(path)

    @functools.cached_property
    def configs(self):
        """Dict of argument -> path of the config."""
        return self._of_each(find_config)

    @functools.cached_property
    def vocabularies(self):
        """Dict of argument -> path of the vocab.txt, or of the tokenizer.json that holds the vocabulary."""
        return self._of_each(find_vocabulary)

    @functools.cached_property
    def tokenizers(self):
        """Dict of argument -> TokenizerFiles, whose `casing_from` tells the file of the casing."""
        return self._of_each(find_tokenizer)

    @functools.cached_property
    def cards(self):
        """Dict of argument -> TaskMetadata of its task.json."""
        return self._of_each(task_metadata.read)

    @property
    def config_file(self):
        """Path of the first config, or None."""
        return next(iter(self.configs.values()), None)

    @property
    def vocab_file(self):
        """Path of the first vocabulary, or None."""
        return next(iter(self.vocabularies.values()), None)

    @property
    def casing(self):
        """(argument, TokenizerFiles) of the first checkpoint that tells its casing; (None, an empty one) without."""
        return next(((name, each) for name, each in self.tokenizers.items() if each.casing_from),
                    (None, TokenizerFiles()))

    def _of_each(self, find_one):
        found = {name: find_one(path) for name, path in self.places.items()}
        return {name: each for name, each in found.items() if each is not None}


def as_vocab_txt(path):
    """The path of a vocabulary of one piece a line: itself, or a temporary file for that of a tokenizer.json.

    What reads, compares and copies a vocabulary takes it as lines. InputError names a tokenizer.json that no model can
    use, since later messages name the temporary file.
    """
    if os.path.basename(path) != TOKENIZER_NAME or not exists(path):
        return path
    pieces = pieces_of_tokenizer_json(path)
    folder = tempfile.mkdtemp(prefix="vocabulary_")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    written = os.path.join(folder, VOCABULARY_NAME)
    with open(written, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{piece}\n" for piece in pieces)
    read_vocabulary(written, f"{path}, as lines")
    return written
