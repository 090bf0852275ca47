"""Reads how a model of sentence-transformers computes the embedding of a text.

The files in its directory describe the pooling of the encoder's outputs.
"""

import dataclasses
import os

from bert_tf import files
from bert_tf.checkpoints.file_keys import ORIGIN, OUTPUT_FORM, FileKeys
from bert_tf.checkpoints.huggingface import HUGGING_FACE
from bert_tf.checkpoints.huggingface_config import CONFIG_NAME
from bert_tf.checkpoints.huggingface_task import read_activation
from bert_tf.checkpoints.origin import Casing, Origin
from bert_tf.errors import InputError, name_file
from bert_tf.tasks.metadata import SENTENCE_POOLINGS, TaskMetadata
from bert_tf.tokenization.token_files import TOKENIZER_CONFIG_NAME

MODULES_NAME = "modules.json"
SENTENCE_CONFIG_NAME = "config_sentence_transformers.json"
CROSS_ENCODER = "CrossEncoder"  # Its model_type.
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


# modules.json of sentence-transformers: each module.
MODULE = FileKeys(
    followed=("type", "path"),
    fixed={"kwargs": ([],)},
    ignored={"the order in the file": ("idx", "name")},
)
# sentence_bert_config.json.
SENTENCE_BERT_CONFIG = FileKeys(
    followed=("max_seq_length", "do_lower_case", "transformer_task"),
    fixed={
        "query_length": (),
        "document_length": (),
        "query_expansion": (),
        "processing_kwargs": ({},),
        "model_args": ({},),
        "model_kwargs": ({},),
        "tokenizer_args": ({},),
        "processor_kwargs": ({},),
        "config_args": ({},),
        "config_kwargs": ({},),
        "tokenizer_name_or_path": (),
    },
    ignored={
        OUTPUT_FORM: ("modality_config", "module_output_name"),
        "the way of computing, with equal results": ("unpad_inputs",),
    },
)
# config_sentence_transformers.json.
SENTENCE_TRANSFORMERS_CONFIG = FileKeys(
    followed=("model_type", "truncate_dim", "activation_fn"),
    fixed={"default_prompt_name": ()},
    ignored={
        ORIGIN: ("__version__",),
        "prompts that no default selects": ("prompts",),
        "the comparison of embeddings, not their numbers": ("similarity_fn_name",),
        "16-bit models only": ("keep_in_fp32_modules",),
    },
)
# 1_Pooling/config.json.
POOLING = FileKeys(
    followed=(
        "pooling_mode",
        "pooling_mode_cls_token",
        "pooling_mode_mean_tokens",
        "pooling_mode_max_tokens",
        "pooling_mode_mean_sqrt_len_tokens",
        "pooling_mode_weightedmean_tokens",
        "pooling_mode_lasttoken",
    ),
    ignored={
        "the hidden size of the model": ("word_embedding_dimension", "embedding_dimension"),
        "without prompts": ("include_prompt",),
    },
)
# 2_Normalize/config.json.
NORMALIZE = FileKeys(ignored={OUTPUT_FORM: ("module_input_name", "module_output_name")})


class SentenceTransformers(Origin):
    """sentence-transformers, which adds its modules to a directory of Hugging Face."""

    is_for_serving = True

    def read_casings(self, directory):
        """Yields the casing of `do_lower_case`, which lowercases and keeps accents."""
        settings = directory.find(*TRANSFORMER_NAMES) if directory.find(MODULES_NAME) else None
        if settings and directory.read_json_object(settings).get("do_lower_case") is True:
            own = next(HUGGING_FACE.read_casings(directory), None)
            if own is not None and own.do_lower_case is False:
                yield Casing(True, own.strip_accents or False, settings)

    def read_task(self, directory):
        """Reads the TaskMetadata of modules.json and the files that it names.

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
    for module in modules:
        MODULE.check(module, path)
    model_path = directory.find(SENTENCE_CONFIG_NAME)
    config = directory.read_json_object(model_path) if model_path else {}
    prompt = config.get("default_prompt_name")
    if prompt is not None:
        raise InputError(
            f"{model_path}: default_prompt_name is {prompt!r}: only null is supported; remove it, "
            "and add the prompt to each text"
        )
    SENTENCE_TRANSFORMERS_CONFIG.check(config, model_path)
    types = [str(module.get("type")).rpartition(".")[2] for module in modules]
    if types == ["Transformer"] and config.get("model_type") == CROSS_ENCODER:
        return _read_cross_encoder(directory, config, model_path)
    if types not in MODULES:
        raise InputError(
            f"{path}: the modules are {', '.join(types) or 'none'}; only Transformer, Pooling, and "
            "Normalize, in this order, are supported"
        )
    for module in modules[2:]:
        normalize_path = os.path.join(folder, module["path"], CONFIG_NAME)
        if files.at(normalize_path).exists():
            NORMALIZE.check(directory.read_json_object(normalize_path), normalize_path)
    pooling = _read_pooling(directory, os.path.join(folder, modules[1]["path"], CONFIG_NAME))
    length = _read_max_seq_length(directory)
    with name_file(directory.find(*TRANSFORMER_NAMES) or path):
        metadata = TaskMetadata(
            "encoder",
            length,
            None,
            source=MODULES_NAME,
            normalize="Normalize" in types,
            sentence_pooling=pooling,
        )
    with name_file(model_path):
        return dataclasses.replace(metadata, truncate_dim=config.get("truncate_dim"))


def _read_cross_encoder(directory, config, path):
    """Returns the TaskMetadata of a CrossEncoder, which scores pairs of texts."""
    task = HUGGING_FACE.read_task(directory)
    if task is None or task.kind != "classifier":
        raise InputError(
            f"{path}: model_type is {CROSS_ENCODER}, but the model is not a classifier"
        )
    name = config.get("activation_fn")
    activation = read_activation(name, path)
    if name is None and not task.labels:
        activation = "sigmoid"  # The default for one number.
    return dataclasses.replace(
        task,
        max_seq_length=_read_max_seq_length(directory),
        pairs=True,
        multi_label=task.multi_label or bool(task.labels and activation),
        activation=None if task.labels else activation,
        source=SENTENCE_CONFIG_NAME,
    )


def _read_max_seq_length(directory):
    """Returns the number of tokens to which texts are truncated, at most the positions.

    It is in the settings of the encoder, or since version 6 in those of the tokenizer.
    """
    settings = directory.find(*TRANSFORMER_NAMES)
    values = directory.read_json_object(settings) if settings else {}
    if settings:
        SENTENCE_BERT_CONFIG.check(values, settings)
    length = values.get("max_seq_length")
    if length is None:
        path = directory.find(TOKENIZER_CONFIG_NAME)
        length = directory.read_json_object(path).get("model_max_length") if path else None
    config = directory.config
    if config is None or isinstance(length, bool) or not isinstance(length, int | float):
        return length
    return int(min(length, config.max_position_embeddings))


def _read_pooling(directory, path):
    """Returns the pooling in the config.json of a module, one of SENTENCE_POOLINGS."""
    try:
        values = directory.read_json_object(path)
    except FileNotFoundError as error:
        raise InputError(f"{path}: does not exist; download the complete directory") from error
    POOLING.check(values, path)
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
