"""Hugging Face's `config.json` and `model.safetensors`.

They have the names and layouts of transformers.

Its linear kernels are [out, in], so they are transposed. Its "gelu" is the exact erf form, called
"gelu_exact" here; its "gelu_new" is the tanh approximation of the original. The masked LM's output
kernel is the word embedding matrix itself (tied) and is not stored. `pytorch_model.bin` is a
pickle, which can run any code when it is loaded, so it is rejected.

DistilBERT and ELECTRA are read, but not written. The first layer of their classification heads is
the pooler.
"""

import json
import os
import re
import shutil

import numpy as np
import safetensors
import safetensors.numpy

from bert_tf import files
from bert_tf.checkpoints.tensors import Checkpoint, StoredTensor, check_weights
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.files import new_files, read_json_object
from bert_tf.huggingface_config import CONFIG_NAME, from_bert
from bert_tf.model_folder import check_loadable
from bert_tf.model_folder.task_metadata import generic_labels, get_task_settings
from bert_tf.model_folder.weights import SHARDED_NAME, WEIGHTS_NAME
from bert_tf.tasks import KINDS, Classifier
from bert_tf.variables import (
    EMBEDDING_PROJECTION,
    EMBEDDING_PROJECTION_BIAS,
    NEXT_SENTENCE,
    OUTPUT_BIAS,
    WORD_EMBEDDINGS,
)

KIND = "Hugging Face model"

WHOLE_NAMES = {
    OUTPUT_BIAS: "cls.predictions.bias",
    f"{NEXT_SENTENCE}output_weights": "cls.seq_relationship.weight",
    f"{NEXT_SENTENCE}output_bias": "cls.seq_relationship.bias",
    "cls/squad/output_weights": "qa_outputs.weight",
    "cls/squad/output_bias": "qa_outputs.bias",
    "output_weights": "classifier.weight",
    "output_bias": "classifier.bias",
    EMBEDDING_PROJECTION: "bert.embeddings_project.weight",
    EMBEDDING_PROJECTION_BIAS: "bert.embeddings_project.bias",
}
CANONICAL_NAMES = {key: name for name, key in WHOLE_NAMES.items()}
TIED_KERNEL = "cls.predictions.decoder.weight"
# Keys without weights of their own: an alias of the bias, and the numbers 0, 1, 2, ...
NO_WEIGHTS = ("cls.predictions.decoder.bias", "bert.embeddings.position_ids")

# Starts of keys in DistilBERT and ELECTRA -> those of the same tensors in BERT.
RELATIVE_KEYS = {
    "electra.": "bert.",
    "distilbert.": "bert.",
    "transformer.": "bert.transformer.",
    "pre_classifier.": "bert.pooler.dense.",
    "classifier.dense.": "bert.pooler.dense.",
    "classifier.out_proj.": "classifier.",
    "sequence_summary.summary.": "bert.pooler.dense.",
    "vocab_transform.": "cls.predictions.transform.dense.",
    "vocab_layer_norm.": "cls.predictions.transform.LayerNorm.",
    "vocab_projector.bias": "cls.predictions.bias",
    "vocab_projector.weight": TIED_KERNEL,
}
# Parts of a layer in DistilBERT -> those in BERT.
DISTILBERT_PARTS = {
    "attention.q_lin": "attention.self.query",
    "attention.k_lin": "attention.self.key",
    "attention.v_lin": "attention.self.value",
    "attention.out_lin": "attention.output.dense",
    "sa_layer_norm": "attention.output.LayerNorm",
    "ffn.lin1": "intermediate.dense",
    "ffn.lin2": "output.dense",
    "output_layer_norm": "output.LayerNorm",
}
DISTILBERT_LAYER = re.compile(r"bert\.transformer\.(layer\.\d+)\.(.+)\.(weight|bias)")
# Ends of the names of matrices that are [out, in] in the files.
TRANSPOSED = ("/kernel", EMBEDDING_PROJECTION)

SCOPES = ("bert/", "cls/predictions/transform/")  # Scopes of the other canonical names.


def read(path):
    """Opens a .safetensors file, or the index of several.

    The settings are from the config.json in the same directory, if it exists.

    Raises:
      InputError: If a file is a pickle, does not exist, or is corrupted; if the word embedding
        matrix of BERT is missing, or the output kernel is not tied to it; or if this project does
        not support the config.
    """
    path = os.fspath(path)
    check_loadable(path)
    config_path = os.path.join(os.path.dirname(path), CONFIG_NAME)
    settings = {}
    tensors = {}
    if files.at(config_path).exists():
        config = read_config(os.path.dirname(path))
        settings = {
            name: getattr(config, name)
            for name in ("hidden_act", "num_attention_heads", "pooler_act")
        }
    for part in _list_parts(path):
        file = _open(part)
        keys = file.keys()
        for key in keys:
            name = canonical_name(key)
            if name is not None:
                tensor = _to_stored_tensor(path, file, key)
                is_transposed = name.endswith(TRANSPOSED)
                tensors[name] = (
                    tensor.map(tensor.shape[::-1], np.transpose) if is_transposed else tensor
                )
    if WORD_EMBEDDINGS not in tensors:
        raise InputError(
            f"{path}: is not a BERT model; it has no bert.embeddings.word_embeddings.weight"
        )
    tied = tensors.pop(TIED_KERNEL, None)
    if tied is not None and not np.array_equal(tied.read(), tensors[WORD_EMBEDDINGS].read()):
        raise InputError(
            f"{path}: {TIED_KERNEL} differs from the word embeddings; masked language models with "
            "an untied output kernel are not supported"
        )
    return Checkpoint(path, KIND, tensors, settings)


def read_config(folder):
    """Reads the BertConfig from the config.json of a directory.

    Raises:
      InputError: If this project does not support a setting.
    """
    return BertConfig.from_json_file(os.path.join(folder, CONFIG_NAME), is_hugging_face=True)


def write(folder, tensors, config, task=None):
    """Writes model.safetensors and config.json like the save_pretrained method of transformers.

    Args:
      folder, tensors, config: See `tf1.write`.
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
    with new_files(folder) as unfinished:
        config_path, weights_path = (
            os.path.join(unfinished, name) for name in (CONFIG_NAME, WEIGHTS_NAME)
        )
        with open(config_path, "w", encoding="utf-8") as file:
            file.write(json.dumps(of_model, indent=2, sort_keys=True, ensure_ascii=False) + "\n")
        try:
            safetensors.numpy.save_file(values, weights_path, metadata={"format": "pt"})
        except safetensors.SafetensorError as error:  # a full disk, for example
            raise OSError(
                f"{os.path.join(folder, WEIGHTS_NAME)}: cannot be written: {error}"
            ) from error
        # safetensors makes its file readable only by the owner.
        shutil.copymode(config_path, weights_path)
    return left_out


def canonical_name(key):
    """Returns the canonical name of a tensor in a .safetensors file.

    None if it has no separate weights.

    A plain BertModel has the same names without the prefix "bert.". Keys that no BERT model has are
    unchanged.
    """
    key = _to_bert_key(key)
    if key in CANONICAL_NAMES:
        return CANONICAL_NAMES[key]
    if key == TIED_KERNEL or not key.startswith(("bert.", "cls.")):
        return key
    if key in NO_WEIGHTS:
        return None
    name = re.sub(r"\.layer\.(\d+)\.", r".layer_\1.", key).replace(".", "/")
    scope, _, leaf = name.rpartition("/")
    if scope.endswith("_embeddings"):
        return scope
    if scope.endswith("/LayerNorm"):  # gamma and beta: files from before 2020
        return f"{scope}/{ {'weight': 'gamma', 'bias': 'beta'}.get(leaf, leaf) }"
    return f"{scope}/kernel" if leaf == "weight" else name


def _to_bert_key(key):
    """Returns the key in BERT of the same tensor of a BERT, a DistilBERT, or an ELECTRA."""
    start = next((start for start in RELATIVE_KEYS if key.startswith(start)), "")
    key = RELATIVE_KEYS.get(start, "") + key.removeprefix(start)
    if key.startswith(("embeddings.", "embeddings_project.", "encoder.", "pooler.")):
        key = f"bert.{key}"
    match = DISTILBERT_LAYER.fullmatch(key)
    if match and match[2] in DISTILBERT_PARTS:
        return f"bert.encoder.{match[1]}.{DISTILBERT_PARTS[match[2]]}.{match[3]}"
    return key


def to_huggingface_key(name):
    """Returns the key of a canonical name in a .safetensors file; None if there is none."""
    if name in WHOLE_NAMES:
        return WHOLE_NAMES[name]
    if not name.startswith(SCOPES):
        return None
    if name.endswith("_embeddings"):
        name = f"{name}/weight"
    scope, _, leaf = name.rpartition("/")
    leaf = {"kernel": "weight", "gamma": "weight", "beta": "bias"}.get(leaf, leaf)
    return re.sub(r"/layer_(\d+)/", r"/layer/\1/", f"{scope}/{leaf}").replace("/", ".")


def list_files(path):
    """Returns the files that `read` reads weights from, a list of str, including an index."""
    return [path, *_list_parts(path)] if path.endswith(SHARDED_NAME) else [path]


def _list_parts(path):
    """Returns the safetensors files of a path, a list of str.

    For an index, these are its files, in the same directory; otherwise, the path itself.
    """
    if not path.endswith(SHARDED_NAME):
        return [path]
    weight_map = read_json_object(path).get("weight_map")
    if not isinstance(weight_map, dict) or not all(
        isinstance(name, str) and name and os.path.basename(name) == name
        for name in weight_map.values()
    ):
        raise InputError(
            f"{path}: is corrupted; it has no weight_map of tensors to files in the same directory"
        )
    return sorted({os.path.join(os.path.dirname(path), name) for name in weight_map.values()})


def _open(path):
    """Opens a safetensors file; raises OSError if a remote one cannot be read."""
    with files.at(path).local_copy() as local:  # mapped into memory, so a copy can be deleted
        try:
            return safetensors.safe_open(local, framework="numpy")
        # OSError: for example, a directory of that name.
        except (safetensors.SafetensorError, OSError) as error:
            raise InputError(
                f"{path}: is not a safetensors file, or is corrupted: {error}"
            ) from error


def _to_stored_tensor(path, file, key):
    return StoredTensor(
        file.get_slice(key).get_shape(), lambda: check_weights(path, key, file.get_tensor(key))
    )


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
