"""The directory of a model of any origin. Does not import TensorFlow before weights are opened.

    directory = ModelDirectory.open("uncased_L-12_H-768_A-12")
    directory.config, directory.tokenizer, directory.task, directory.checkpoint

A new format of models is a module with an Origin, and its line in ORIGINS.
"""

import functools
import os

from bert_tf import notes
from bert_tf.checkpoints.folder import Folder
from bert_tf.checkpoints.huggingface import HUGGING_FACE
from bert_tf.checkpoints.huggingface_tokenizer import get_vocabulary
from bert_tf.checkpoints.keras_hub import KERAS_HUB
from bert_tf.checkpoints.missing_paths import describe_remedy
from bert_tf.checkpoints.model_garden import MODEL_GARDEN
from bert_tf.checkpoints.original import ORIGINAL
from bert_tf.checkpoints.peft import PEFT
from bert_tf.checkpoints.saved_models import find_version, is_encoder
from bert_tf.checkpoints.sentence_transformers import SENTENCE_TRANSFORMERS
from bert_tf.checkpoints.tokenizers import (
    TokenizerFiles,
    describe_vocabulary_difference,
    is_same_vocabulary,
    write_temporary_vocabulary,
)
from bert_tf.checkpoints.training_run import RUN_FILE, TRAINING_RUN
from bert_tf.errors import InputError, name_file
from bert_tf.files import check_json_object, read_json
from bert_tf.tasks.metadata import TASK_FILE
from bert_tf.tokenization.token_files import TOKEN_FILES, TOKENIZER_NAME, parse_added_tokens
from bert_tf.tokenization.vocabulary import read_vocabulary
from bert_tf.variables import get_shapes

# The first one with an answer takes precedence. The config is an exception: the origin of the
# weights comes first, and then the others in reverse order.
ORIGINS = (
    TRAINING_RUN,
    KERAS_HUB,
    PEFT,
    SENTENCE_TRANSFORMERS,
    HUGGING_FACE,
    MODEL_GARDEN,
    ORIGINAL,
)

# Names of the files that can contain a setting, for error messages.
CONFIG_NAMES = "bert_config.json, config.json, or params.yaml"
VOCABULARY_NAMES = "vocab.txt or tokenizer.json"


class ModelDirectory:
    """The files of a model, each of which is found, read, and checked on first use.

    Attributes:
      path: str. Path that was opened: a directory, a file, or the prefix of a checkpoint.
      folder: Folder. The directory, or the one of the file or the prefix.
      name: str. Name of the file or the prefix in `folder`; None for a directory.
    """

    def __init__(self, path, folder, name):
        self.path = path
        self.folder = folder
        self.name = name
        self._contents = {}

    @classmethod
    def open(cls, path, argument=None):
        """Lists the directory of a model, local or remote.

        Args:
          path: str, bytes, or os.PathLike. Directory, file, or prefix of a checkpoint; or an opened
            ModelDirectory, which is returned.
          argument: str. Name of the argument with the path, which must exist; None for a path that
            does not have to exist.

        Raises:
          InputError: If the path must exist, but does not.
          OSError: If the directory cannot be read.
        """
        opened = path if isinstance(path, cls) else cls._list(os.fsdecode(path))
        if argument is not None:
            opened.check_exists(argument)
        return opened

    @classmethod
    def _list(cls, path):
        folder = Folder.read(path)
        if folder is not None:
            return cls(path, folder, None)
        parent, name = os.path.split(path)
        parent = parent or os.curdir
        return cls(path, Folder.read(parent) or Folder(parent), name)

    def check_exists(self, argument):
        """Raises InputError about an argument if its path does not exist."""
        names = (self.name, f"{self.name}.index")
        if self.name is None or any(map(self.folder.exists, names)):
            return
        raise InputError(
            f"does not exist; {describe_remedy(self.path, self.folder, self.name)}",
            argument,
            self.path,
        )

    def read(self, reader, path):
        """Returns the result of `reader(path)`, which is called once for each path."""
        key = (reader, path)
        if key not in self._contents:
            self._contents[key] = reader(path)
        return self._contents[key]

    def compute(self, function, path):
        """Returns the result of `function(directory, path)`, which is called once for each path."""
        key = (function, path)
        if key not in self._contents:
            self._contents[key] = function(self, path)
        return self._contents[key]

    def read_json(self, path):
        """Returns the value of a JSON file, which is read once; see `bert_tf.files.read_json`."""
        return self.read(read_json, path)

    def read_json_object(self, path):
        """Returns the dict of a JSON file, which is read once."""
        return check_json_object(self.read_json(path), path)

    @functools.cached_property
    def folders(self):
        """Folders that can contain the files of the model, a list: its own, and one around it."""
        outer = (origin.find_outer_folder(self, self.folder) for origin in ORIGINS)
        return [self.folder, *filter(None, outer)]

    def find(self, *names):
        """Returns the path of the first file of these names that exists; None if there is none.

        It is in the first of `folders` that contains any of them.
        """
        for folder in self.folders:
            for name in names:
                if folder.exists(name):
                    return folder.join(name)
        return None

    @functools.cached_property
    def _origins(self):
        """The origins to ask: the one that owns all files, or all of ORIGINS."""
        return next(((origin,) for origin in ORIGINS if origin.owns(self)), ORIGINS)

    # The weights.

    @functools.cached_property
    def _weights(self):
        """Dict of origin -> path of its weights."""
        found = {origin: origin.find_weights(self) for origin in self._origins}
        return {origin: path for origin, path in found.items() if path is not None}

    @property
    def weights_origin(self):
        """The Origin of the weights; None if there are none. TensorFlow checkpoints are first."""
        return next(reversed(self._weights), None)

    @functools.cached_property
    def weights_path(self):
        """Path of the weights, str: a file, or the prefix of a TensorFlow checkpoint.

        Raises:
          InputError: If there are no weights, or if a directory contains those of two origins.
        """
        self.check_has_weights()
        return self._weights[self.weights_origin]

    def check_has_weights(self):
        """Raises InputError if there are no weights, or those of two origins."""
        if not self._weights:
            raise InputError(f"{self.path}: no checkpoint found (*.index or model.safetensors)")
        if len(self._weights) > 1:
            names = " and ".join(map(os.path.basename, reversed(self._weights.values())))
            raise InputError(
                f"{self.path}: contains {names}; set one of them instead of the directory"
            )

    @functools.cached_property
    def checkpoint(self):
        """The opened weights, `bert_tf.checkpoints.tensors.Checkpoint`, which reads them lazily.

        Raises:
          InputError: If there are no weights, if two origins have some, or if the model is not
            a BERT.
        """
        path = self.weights_path
        first = self.weights_origin
        first.check_weights(self, path)
        for origin in sorted(self._origins, key=lambda origin: origin is not first):
            checkpoint = origin.read_weights(self, path)
            if checkpoint is not None:
                for other in self._origins:
                    checkpoint = other.adapt_weights(self, checkpoint)
                return checkpoint
        raise InputError(
            f"{path}: the checkpoint does not contain a BERT of this project or of "
            f"tf-models-official; {first.describe_weights(self, path)}"
        )

    @property
    def weight_files(self):
        """Paths of the files with the weights, a list of str."""
        path = self.weights_path
        return self.weights_origin.list_weight_files(self, path)

    @functools.cached_property
    def saved_model(self):
        """Folder of the SavedModel, the directory or its latest version; None without one."""
        return find_version(self.folder) if self.name is None else None

    @functools.cached_property
    def is_garden_encoder(self):
        """Returns whether the SavedModel is an encoder of tf-models-official."""
        return self.saved_model is not None and is_encoder(self, self.saved_model)

    def check_loadable(self):
        """Raises InputError if the weights can never be loaded into a model of this project.

        Rejects exports, pickles, files of Keras, unsupported models, and directories and files
        of something else.
        """
        if not (self._weights or self.config_path or self.saved_model):
            is_file = self.name is not None
            problem = (
                "is not a checkpoint" if is_file else "is a directory without weights or config"
            )
            raise InputError(
                f"{self.path}: {problem}; set the directory of a model, or a checkpoint's prefix"
            )
        if self.saved_model and not (self.is_garden_encoder or self._weights):
            raise InputError(
                f"{self.path}: is an export, for run.predict and bert_tf.load; set its checkpoint"
            )
        if self.weights_origin is not None:
            self.weights_origin.check_weights(self, self._weights[self.weights_origin])

    # The other files.

    @functools.cached_property
    def config_path(self):
        """Path of the config; None if there is none.

        Raises:
          InputError: If two configs describe models of different sizes.
        """
        for folder in self.folders:
            asked = {origin: origin.find_config(self, folder) for origin in self._origins[::-1]}
            found = {origin: path for origin, path in asked.items() if path is not None}
            if not found:
                continue
            first = next(iter(found.values()))
            if len(found) > 1:
                first = found.pop(self.weights_origin, first)
            for other in found.values():
                if other != first:
                    self._check_same_sizes(first, other)
            return first
        return None

    @functools.cached_property
    def config(self):
        """BertConfig of the model; None if there is none.

        Raises:
          InputError: If it is corrupted, or if this project does not support the model.
        """
        return None if self.config_path is None else self.read_config(self.config_path)

    def read_config(self, path):
        """Reads the BertConfig of a file of any origin; see `read_config_file` of this module."""
        return self.read(self._parse_config, path)

    def _parse_config(self, path):
        found = (origin.read_config(self, path) for origin in self._origins)
        return next(config for config in found if config is not None)

    def _check_same_sizes(self, path, other):
        """Raises InputError if two configs are of weights with different shapes.

        Ignores configs that cannot be read.
        """
        try:
            config = self.read_config(path)
            other_config = self.read_config(other)
        except InputError:
            return
        if (config.num_attention_heads, get_shapes(config)) != (
            other_config.num_attention_heads,
            get_shapes(other_config),
        ):
            raise InputError(
                f"{path} and {os.path.basename(other)} next to it are of models of different "
                "sizes; set `bert_config_file` to the correct one"
            )

    @functools.cached_property
    def vocab_file(self):
        """Path of the vocabulary; None if there is none.

        A tokenizer.json takes precedence over a vocab.txt, as in transformers 5.
        """
        names = [name for origin in self._origins for name in origin.vocabulary_names]
        for folder in self.folders:
            found = [folder.join(name) for name in names if folder.exists(name)]
            for other in found[1:]:
                difference = describe_vocabulary_difference(found[0], other)
                if difference:
                    name = os.path.basename(other)
                    notes.tell(f"{found[0]} takes precedence over {name} next to it{difference}")
            if found:
                return found[0]
        return None

    @functools.cached_property
    def vocab_txt(self):
        """Path of the vocabulary with one token per line, a temporary file for a tokenizer.json.

        None if there is none.
        """
        path = self.vocab_file
        if path is None or os.path.basename(path) != TOKENIZER_NAME:
            return path
        pieces = get_vocabulary(self.read_json_object(path), path)
        return write_temporary_vocabulary(path, pieces, self.added_tokens)

    @functools.cached_property
    def added_tokens(self):
        """AddedTokens of the vocabulary, a tuple.

        Raises:
          InputError: If a file is corrupted, or if transformers would give a token another ID.
        """
        path = self.vocab_file
        if path is None:
            return ()
        folder = next(folder for folder in self.folders if path.startswith(folder.join("")))
        inside = os.path.dirname(path.removeprefix(folder.join("")))
        values = {
            name: self.read_json_object(folder.join(os.path.join(inside, name)))
            for name in TOKEN_FILES
            if folder.has_file(os.path.join(inside, name))
        }

        def read_pieces():
            if os.path.basename(path) == TOKENIZER_NAME:
                return get_vocabulary(values[TOKENIZER_NAME], path)
            return read_vocabulary(path)

        with name_file(os.path.dirname(path)):
            return parse_added_tokens(values, read_pieces)

    def check_run_vocabulary(self, argument, vocab_file):
        """Raises InputError if an explicit vocabulary differs from that of the model's run.

        The path of the model is the value of `argument`.
        """
        existing = self.vocab_file
        if (
            existing
            and self.find(TASK_FILE, RUN_FILE)
            and not is_same_vocabulary(self.vocab_txt, vocab_file)
        ):
            raise InputError(
                f"differs from the vocabulary that `{argument}`={self.path} was trained with, "
                f"{existing}",
                "vocab_file",
                vocab_file,
            )

    @functools.cached_property
    def tokenizer(self):
        """TokenizerFiles with the vocabulary and the casing.

        Raises:
          InputError: If a file is corrupted, or if this project does not support the tokenizer.
        """
        strip_accents = None
        accents_from = None
        for casing in self._read_casings():
            # This setting can be in another file than the casing.
            if strip_accents is None:
                strip_accents = casing.strip_accents
                accents_from = casing.path
            if casing.do_lower_case is not None:
                do_lower_case = casing.do_lower_case
                return TokenizerFiles(
                    self.vocab_file,
                    do_lower_case,
                    None if strip_accents == do_lower_case else strip_accents,
                    casing.path,
                )
        if strip_accents is None:
            return TokenizerFiles(self.vocab_file)
        # Transformers lowercases by default.
        accents = None if strip_accents else strip_accents
        return TokenizerFiles(self.vocab_file, True, accents, accents_from)

    def _read_casings(self):
        for origin in self._origins:
            yield from origin.read_casings(self)

    @functools.cached_property
    def task(self):
        """TaskMetadata that the model was trained for; None if there is none."""
        return self._read_task(is_for_serving=False)

    @functools.cached_property
    def served_task(self):
        """TaskMetadata with which the model is served; None if there is none.

        Without a task.json, a model that sentence-transformers trained is a sentence encoder. Only
        predictions depend on its pooling, so fine-tuning accepts any.
        """
        return self._read_task(is_for_serving=True)

    def _read_task(self, is_for_serving):
        origins = [
            origin for origin in self._origins if is_for_serving or not origin.is_for_serving
        ]
        found = (origin.read_task(self) for origin in origins)
        return next((metadata for metadata in found if metadata is not None), None)

    @functools.cached_property
    def run_settings(self):
        """Initial settings of the training run, the dict in its run.json; {} without one."""
        path = self.find(RUN_FILE)
        return self.read_json_object(path) if path else {}


def read_config_file(path):
    """Reads the BertConfig of a file.

    Args:
      path: Path of a bert_config.json, of Hugging Face's config.json, of the Model Garden's
        params.yaml, or of the saved_model.pb of a SavedModel of the Model Garden. The activation of
        the latter is assumed to be "gelu".

    Raises:
      InputError: If the file is not a config, or if this project does not support the model, with
        the path.
    """
    return ModelDirectory.open(path).read_config(os.fsdecode(path))
