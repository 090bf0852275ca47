"""Directories of Hugging Face: `config.json`, `model.safetensors`, and the tokenizer's files.

Models have the names and layouts of transformers; see `huggingface_config` and `huggingface_keys`.
`pytorch_model.bin` is a pickle, which can run any code when it is loaded, so it is rejected.

DistilBERT and ELECTRA are read, but not written.
"""

import json
import os
import shutil

import numpy as np

from bert_tf import notes
from bert_tf.checkpoints.huggingface_config import (
    BERT,
    CONFIG_NAME,
    MARKS,
    PRUNED,
    check_model_type,
    from_bert,
)
from bert_tf.checkpoints.huggingface_file_keys import CONFIG as CONFIG_KEYS
from bert_tf.checkpoints.huggingface_keys import (
    OUTPUT_BIAS_KEY,
    TRANSPOSED,
    canonical_name,
    to_huggingface_key,
)
from bert_tf.checkpoints.huggingface_task import generic_labels, get_task_settings, to_task
from bert_tf.checkpoints.huggingface_tokenizer import (
    check_special_tokens,
    check_tokenizer_config,
    follows_file,
    read_config_casing,
    read_tokenizer_casing,
    replace_casing,
)
from bert_tf.checkpoints.origin import Origin
from bert_tf.checkpoints.original import find_tensorflow_checkpoint
from bert_tf.checkpoints.tensors import Checkpoint, StoredTensor, check_weights
from bert_tf.config import BertConfig
from bert_tf.errors import InputError, name_file
from bert_tf.files import new_files, read_json_object
from bert_tf.tasks import KINDS, Classifier
from bert_tf.tokenization.token_files import (
    SPECIAL_TOKENS_NAME,
    TOKENIZER_CONFIG_NAME,
    TOKENIZER_NAME,
)
from bert_tf.variables import NEXT_SENTENCE, OUTPUT_BIAS, OUTPUT_MATRIX, WORD_EMBEDDINGS

FORMAT_NAME = "Hugging Face model"

WEIGHTS_NAME = "model.safetensors"
SHARDED_NAME = f"{WEIGHTS_NAME}.index.json"  # Maps tensors to one of several files.
PICKLE_NAMES = ("pytorch_model.bin", "pytorch_model.bin.index.json")
PICKLE_SUFFIXES = (".bin", ".bin.index.json", ".pt", ".pth")
# The name in transformers, which converts it in version 4.46, but not 4.51 or 4.57.
KERAS_NAME = "tf_model.h5"
KERAS_SUFFIXES = (".h5", ".keras")
REJECTED_SUFFIXES = (*PICKLE_SUFFIXES, *KERAS_SUFFIXES)
WEIGHTS_SUFFIXES = (".safetensors", ".safetensors.index.json", *REJECTED_SUFFIXES)
# Beginnings of the names of all tensors, and parts of names, that no BERT has -> the reason.
PREFIXES = {
    "module.": "it was saved from torch.nn.DataParallel or DistributedDataParallel; save "
    "model.module.save_pretrained(DIRECTORY)",
    "_orig_mod.": "it was saved from torch.compile; save "
    "model._orig_mod.save_pretrained(DIRECTORY)",
    "base_model.model.": "it was saved from a model of PEFT; save "
    "model.merge_and_unload().save_pretrained(DIRECTORY)",
}
PARTS = {
    ".base_layer.": "it was saved from a model of PEFT; save "
    "model.merge_and_unload().save_pretrained(DIRECTORY)",
    ".lora_": "adapters of PEFT inside the weights are not supported; save "
    "model.merge_and_unload().save_pretrained(DIRECTORY)",
}
# Fields of BertConfig that the shapes of the tensors do not show.
SETTINGS = ("hidden_act", "num_attention_heads", "pooler_act")


class HuggingFace(Origin):
    """transformers, and the programs that write its files."""

    vocabulary_names = (TOKENIZER_NAME,)

    def find_config(self, directory, folder):
        """Returns the path of config.json."""
        return folder.join(CONFIG_NAME) if folder.exists(CONFIG_NAME) else None

    def read_config(self, directory, path):
        """Reads a config.json whose keys, or weights next to it, show the format."""
        parent, name = os.path.split(path)
        if name != CONFIG_NAME:
            return None
        has_weights = any(
            folder.path == (parent or os.curdir) and _find_weights(folder)
            for folder in directory.folders
        )
        values = directory.read_json_object(path)
        if not (has_weights or any(key in values for key in MARKS)):
            return None
        model_type = directory.compute(_check_model_type, path)
        CONFIG_KEYS.check(values, path)
        if values.get(PRUNED) and _has_full_matrices(directory, values):
            notes.tell(f"{path}: ignoring {PRUNED}, like transformers 5: the matrices are complete")
            values = {name: value for name, value in values.items() if name != PRUNED}
        with name_file(path):
            return BertConfig.from_hugging_face(values, model_type)

    def read_casings(self, directory):
        """Yields the casing of tokenizer_config.json or tokenizer.json; the class decides which."""
        special_path = directory.find(SPECIAL_TOKENS_NAME)
        if special_path:
            check_special_tokens(directory.read_json_object(special_path), special_path)
        config_path = directory.find(TOKENIZER_CONFIG_NAME)
        path = directory.find(TOKENIZER_NAME)
        config = directory.read_json_object(config_path) if config_path else {}
        if not path:
            if config_path:
                yield read_config_casing(config, config_path)
            return
        check_tokenizer_config(config, config_path or path)
        values = directory.read_json_object(path)
        model_path = directory.find(CONFIG_NAME)
        model = directory.read_json_object(model_path) if model_path else {}
        if follows_file(config, model):
            yield read_tokenizer_casing(values, path)
        else:
            yield replace_casing(values, path, config, config_path or path)

    def read_task(self, directory):
        """Reads the kind and the labels of a fine-tuned model from its config.json."""
        path = directory.find(CONFIG_NAME)
        return to_task(directory.read_json_object(path), path) if path else None

    def find_weights(self, directory):
        """Returns a file of weights; a TensorFlow checkpoint next to a pickle is preferred."""
        if directory.name is not None and directory.path.endswith(WEIGHTS_SUFFIXES):
            return directory.path
        path = _find_weights(directory.folder) if directory.name is None else None
        is_rejected = path is not None and path.endswith(REJECTED_SUFFIXES)
        return None if is_rejected and find_tensorflow_checkpoint(directory.folder) else path

    def check_weights(self, directory, path):
        """Rejects pickles, files of Keras, and models of another type."""
        if directory.name is not None and not directory.folder.exists(directory.name):
            raise InputError(f"{path}: does not exist")
        config_path = os.path.join(os.path.dirname(path), CONFIG_NAME)
        has_config = directory.folder.exists(CONFIG_NAME)
        if has_config:
            directory.compute(_check_model_type, config_path)
        if not path.endswith(REJECTED_SUFFIXES):
            return
        values = directory.read_json_object(config_path) if has_config else {}
        architectures = values.get("architectures")
        is_known = isinstance(architectures, list) and architectures
        name = architectures[0] if is_known else "AutoModelForPreTraining"
        raise InputError(f"{path}: {_describe_rejected(path, name)}")

    def list_weight_files(self, directory, path):
        """Returns the file, or an index and the files that it names."""
        return [path, *_list_parts(directory, path)] if path.endswith(SHARDED_NAME) else [path]

    def read_weights(self, directory, path):
        """Opens a .safetensors file, or the index of several.

        The settings are from the config.json in the same directory, if it exists.

        Raises:
          InputError: If a file is a pickle, does not exist, or is corrupted; if the word embedding
            matrix of BERT is missing; or if this project does not support the config.
        """
        if not path.endswith(WEIGHTS_SUFFIXES):
            return None
        settings = {}
        is_tied = True
        model_type = None
        if directory.folder.exists(CONFIG_NAME):
            config = directory.read_config(directory.folder.join(CONFIG_NAME))
            settings = {name: getattr(config, name) for name in SETTINGS}
            is_tied = config.tie_word_embeddings
            model_type = directory.compute(_check_model_type, directory.folder.join(CONFIG_NAME))
        tensors = _read_tensors(path, _list_parts(directory, path), model_type != BERT)
        if WORD_EMBEDDINGS not in tensors:
            raise InputError(
                f"{path}: is not a BERT model; it has no bert.embeddings.word_embeddings.weight"
            )
        bias = tensors.pop(OUTPUT_BIAS_KEY, None)
        if bias is not None:
            tensors[OUTPUT_BIAS] = bias
        if is_tied and OUTPUT_MATRIX in tensors:
            _remove_copy(tensors)
        return Checkpoint(path, FORMAT_NAME, tensors, settings)


HUGGING_FACE = HuggingFace()


def read_config(folder):
    """Reads the BertConfig from the config.json of a directory.

    Raises:
      InputError: If this project does not support a setting.
    """
    path = os.path.join(folder, CONFIG_NAME)
    values = read_json_object(path)
    with name_file(path):
        return BertConfig.from_hugging_face(values, check_model_type(values))


def _check_model_type(directory, path):
    """Returns the model type in a config.json; raises InputError if it is not supported."""
    values = directory.read_json_object(path)
    with name_file(path):
        return check_model_type(values)


def _find_weights(folder):
    """Returns the path of the weights in a Folder, or None.

    This is the model.safetensors, its index if it is sharded, or else a file that is rejected.
    """
    names = (WEIGHTS_NAME, SHARDED_NAME, *PICKLE_NAMES, KERAS_NAME)
    return next((folder.join(name) for name in names if folder.has_file(name)), None)


def _describe_rejected(path, name):
    """Returns the reason why a file of weights is rejected, and how to convert it.

    `name`: Class of transformers.
    """
    if path.endswith(PICKLE_SUFFIXES):
        return (
            "is a pickle, which can run arbitrary code when it is loaded; convert it to "
            f"{WEIGHTS_NAME} with transformers: "
            f"{name}.from_pretrained(OLD_DIR).save_pretrained(NEW_DIR)"
        )
    advice = (
        "load it into its model of bert_tf, and save that with "
        "model.save_pretrained(DIRECTORY, tokenizer)"
    )
    if os.path.basename(path) == KERAS_NAME:
        advice = (
            f"convert it to {WEIGHTS_NAME} with transformers 4.46 and PyTorch: "
            f"{name}.from_pretrained(OLD_DIR, from_tf=True).save_pretrained(NEW_DIR)"
        )
    return f"is a file of Keras, which is not supported; {advice}"


def _has_full_matrices(directory, values):
    """Returns whether the query kernels of a model with pruned_heads have all heads."""
    from bert_tf.checkpoints.safetensors_file import open_file

    path = _find_weights(directory.folder)
    if path is None or path.endswith(REJECTED_SUFFIXES):
        return False
    sizes = set()
    for part in _list_parts(directory, path):
        file = open_file(part)
        keys = file.keys()
        queries = [key for key in keys if key.endswith("self.query.weight")]
        sizes |= {file.get_slice(key).get_shape()[0] for key in queries}
    return sizes == {values.get("hidden_size")}


def _check_keys(keys, path):
    """Raises InputError if other programs have renamed the tensors of a BERT."""
    for prefix, reason in PREFIXES.items():
        if keys and all(key.startswith(prefix) for key in keys):
            raise InputError(f"{path}: the names of all tensors begin with {prefix!r}: {reason}")
    for part, reason in PARTS.items():
        found = next((key for key in keys if part in key), None)
        if found:
            raise InputError(f"{path}: contains {found}: {reason}")


def _read_tensors(path, parts, is_relative):
    """Returns the tensors of safetensors files by canonical name, a dict of StoredTensor.

    Args:
      path: Path of the weights, for error messages.
      parts: Paths of the files.
      is_relative: Whether the model can be a DistilBERT or an ELECTRA.
    """
    from bert_tf.checkpoints.safetensors_file import open_file

    tensors = {}
    for part in parts:
        file = open_file(part)
        keys = file.keys()
        _check_keys(keys, path)
        for key in keys:
            name = canonical_name(key, is_relative)
            if name in tensors:
                raise InputError(f"{path}: contains {name} twice, once as {key}")
            if name is not None:
                tensor = _to_stored_tensor(path, file, key)
                is_transposed = name.endswith(TRANSPOSED)
                tensors[name] = (
                    tensor.map(tensor.shape[::-1], np.transpose) if is_transposed else tensor
                )
    return tensors


def _remove_copy(tensors):
    """Removes the output matrix from the tensors of a file if it equals the word embeddings."""
    if np.array_equal(tensors[OUTPUT_MATRIX].read(), tensors[WORD_EMBEDDINGS].read()):
        del tensors[OUTPUT_MATRIX]


def _to_stored_tensor(path, file, key):
    return StoredTensor(
        file.get_slice(key).get_shape(), lambda: check_weights(path, key, file.get_tensor(key))
    )


def _list_parts(directory, path):
    """Returns the safetensors files of a path, a list of str.

    For an index, these are its files, in the same directory; otherwise, the path itself.
    """
    if not path.endswith(SHARDED_NAME):
        return [path]
    weight_map = directory.read_json_object(path).get("weight_map")
    if not isinstance(weight_map, dict) or not all(
        isinstance(name, str) and name and os.path.basename(name) == name
        for name in weight_map.values()
    ):
        raise InputError(
            f"{path}: is corrupted; it has no weight_map of tensors to files in the same directory"
        )
    return sorted({os.path.join(os.path.dirname(path), name) for name in weight_map.values()})


def write(folder, tensors, config, task=None):
    """Writes model.safetensors and config.json like the save_pretrained method of transformers.

    Args:
      folder, tensors, config: See `original.write`.
      task: TaskMetadata of a fine-tuned model, which determines the class and the labels in
        config.json. None derives the class from the heads: BertModel without a head; for a
        classifier's head, which is also that of a token classifier, BertForSequenceClassification
        with generic label names.

    Returns:
      Tuple of str. Sorted names of tensors that the format does not support, since no BERT model
      has them.

    Raises:
      InputError: If the number of labels of the task does not match the head, or if transformers
        does not support the model.
    """
    from bert_tf.checkpoints.safetensors_file import write_file

    keys = {name: to_huggingface_key(name) for name in tensors}
    left_out = tuple(sorted(name for name, key in keys.items() if key is None))
    of_model = from_bert(config.to_dict()) | get_model_settings(tensors, task)
    values = {}
    for name in sorted(set(tensors) - set(left_out)):
        value = tensors[name].read()
        key = (
            keys[name].removeprefix("bert.")
            if of_model["architectures"] == ["BertModel"]
            else keys[name]
        )
        # safetensors writes the memory layout, regardless of the strides.
        values[key] = np.ascontiguousarray(value.T if name.endswith("/kernel") else value)
    if OUTPUT_MATRIX in tensors:  # transformers then reads the bias under this name.
        values[OUTPUT_BIAS_KEY] = values[keys[OUTPUT_BIAS]]
    with new_files(folder) as unfinished:
        config_path, weights_path = (
            os.path.join(unfinished, name) for name in (CONFIG_NAME, WEIGHTS_NAME)
        )
        with open(config_path, "w", encoding="utf-8") as file:
            file.write(json.dumps(of_model, indent=2, sort_keys=True, ensure_ascii=False) + "\n")
        write_file(weights_path, values, {"format": "pt"}, os.path.join(folder, WEIGHTS_NAME))
        # safetensors makes its file readable only by the owner.
        shutil.copymode(config_path, weights_path)
    return left_out


def get_model_settings(tensors, task):
    """Returns the keys of config.json that name the model class of transformers.

    Kinds that Hugging Face does not support are ignored.

    Args:
      tensors: Dict of canonical name to StoredTensor, which determine the class.
      task: See `write`.

    Raises:
      InputError: If the number of labels of the task does not match the head.
    """
    if OUTPUT_BIAS in tensors:
        return {
            "architectures": [
                "BertForPreTraining"
                if f"{NEXT_SENTENCE}output_weights" in tensors
                else "BertForMaskedLM"
            ]
        }
    for kind in KINDS.values():
        if kind.head_scope and f"{kind.head_scope}output_weights" in tensors:
            return get_task_settings(kind.name)
    if "output_weights" not in tensors:
        return {"architectures": ["BertModel"]}
    outputs = tensors["output_bias"].shape[0]
    if task is None or not KINDS[task.kind].hugging_face:
        settings = get_task_settings(Classifier.name, generic_labels(outputs))
        del settings["problem_type"]  # It is unknown.
        return settings
    if (len(task.labels) or 1) != outputs:
        raise InputError(
            f"the task has {len(task.labels)} labels, but the model has {outputs} outputs"
        )
    return get_task_settings(task.kind, task.labels, task.multi_label)
