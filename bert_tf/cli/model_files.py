"""The directories of the models in a script's settings.

    files = ModelFiles({"init_checkpoint": "uncased_L-12_H-768_A-12", "output_dir": "mrpc"})

Each file is searched on first use, so that damage in an unused file is not an error.
"""

import dataclasses
import functools

from bert_tf.checkpoints.directory import ModelDirectory
from bert_tf.checkpoints.tokenizers import TokenizerFiles


@dataclasses.dataclass(frozen=True)
class ModelFiles:
    """Files next to checkpoints; reading an attribute raises InputError if a file is corrupted.

    Attributes:
      paths: Dict of argument -> path of a checkpoint: directory, prefix, or file. The first takes
        precedence.
    """

    paths: dict

    @functools.cached_property
    def directories(self):
        """Dict of argument -> ModelDirectory."""
        return {name: ModelDirectory.open(path) for name, path in self.paths.items()}

    @functools.cached_property
    def configs(self):
        """Dict of argument -> path of the config."""
        return self._find_each(lambda directory: directory.config_path)

    @functools.cached_property
    def vocabularies(self):
        """Dict of argument -> path of the vocabulary, in a vocab.txt or a tokenizer.json."""
        return self._find_each(lambda directory: directory.vocab_file)

    @functools.cached_property
    def tokenizers(self):
        """Dict of argument -> TokenizerFiles, whose `casing_from` is the source of the casing."""
        return self._find_each(lambda directory: directory.tokenizer)

    @functools.cached_property
    def task_metadata(self):
        """Dict of argument -> TaskMetadata with which it is served."""
        return self._find_each(lambda directory: directory.served_task)

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
        found = {name: find_one(directory) for name, directory in self.directories.items()}
        return {name: result for name, result in found.items() if result is not None}
