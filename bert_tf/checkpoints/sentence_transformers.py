"""Reads how a model of sentence-transformers computes the embedding of a text.

The files in its directory describe the pooling of the encoder's outputs.
"""

import os

from bert_tf.checkpoints.origin import Origin
from bert_tf.errors import InputError, name_file
from bert_tf.tasks.metadata import SENTENCE_POOLINGS, TaskMetadata

MODULES_NAME = "modules.json"
PROMPTS_NAME = "config_sentence_transformers.json"
# Settings of the encoder.
TRANSFORMER_NAMES = ("sentence_bert_config.json", "sentence_distilbert_config.json")
# The supported models.
MODULES = (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"])
# Keys of the pooling: one Boolean for each mode, or in later versions, their names.
PREFIX = "pooling_mode_"
POOLINGS = {
    f"{PREFIX}mean_tokens": "mean",
    f"{PREFIX}max_tokens": "max",
    f"{PREFIX}cls_token": "cls",
}


class SentenceTransformers(Origin):
    """sentence-transformers, which adds its modules to a directory of Hugging Face."""

    is_for_serving = True

    def read_task(self, directory):
        """Reads the TaskMetadata of an encoder from modules.json and the files that it names.

        None without modules.json. This project does not support all modules and poolings.
        """
        path = directory.find(MODULES_NAME)
        return None if path is None else _read_modules(directory, path)


SENTENCE_TRANSFORMERS = SentenceTransformers()


def _read_modules(directory, path):
    """Returns the TaskMetadata of a modules.json."""
    modules = directory.read_json(path)
    folder = os.path.dirname(path)
    if not isinstance(modules, list) or not all(
        isinstance(module, dict) and isinstance(module.get("path"), str) for module in modules
    ):
        raise InputError(f"{path}: must be a list of modules with a type and a path")
    kinds = [str(module.get("type")).rpartition(".")[2] for module in modules]
    if kinds not in MODULES:
        raise InputError(
            f"{path}: the modules are {', '.join(kinds) or 'none'}; only Transformer, Pooling, and "
            "Normalize, in this order, are supported"
        )
    _check_prompt(directory, directory.find(PROMPTS_NAME))
    settings = directory.find(*TRANSFORMER_NAMES)
    values = directory.read_json_object(settings) if settings else {}
    pooling = _read_pooling(directory, os.path.join(folder, modules[1]["path"], "config.json"))
    with name_file(settings):
        return TaskMetadata(
            "encoder",
            values.get("max_seq_length"),
            None,
            source=MODULES_NAME,
            normalize="Normalize" in kinds,
            sentence_pooling=pooling,
        )


def _read_pooling(directory, path):
    """Returns the pooling in the config.json of a module, one of SENTENCE_POOLINGS."""
    try:
        values = directory.read_json_object(path)
    except FileNotFoundError as error:
        raise InputError(f"{path}: does not exist; download the complete directory") from error
    modes = values.get("pooling_mode")
    if modes is None:
        modes = [
            POOLINGS.get(name, name.removeprefix(PREFIX))
            for name, value in values.items()
            if name.startswith(PREFIX) and value is True
        ]
    modes = [modes] if isinstance(modes, str) else modes
    if not isinstance(modes, list) or len(modes) != 1 or modes[0] not in SENTENCE_POOLINGS:
        raise InputError(
            f"{path}: the pooling is {modes!r:.80}: must be one of {', '.join(SENTENCE_POOLINGS)}"
        )
    return modes[0]


def _check_prompt(directory, path):
    """Raises InputError if a text is only a part of the input that the model was trained with."""
    prompt = directory.read_json_object(path).get("default_prompt_name") if path else None
    if prompt is not None:
        raise InputError(
            f"{path}: default_prompt_name is {prompt!r}: only null is supported; remove it, and "
            "add the prompt to each text"
        )
