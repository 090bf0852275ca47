"""Presets of KerasHub: `config.json`, `model.weights.h5`, and the vocabulary in `assets/tokenizer`.

Its kernels have BERT's layout, except those of attention: [H, N, D] for query, key, and value, and
[N, D, H] for the output. A BertTextClassifier also has `task.json` and `task.weights.h5`; heads of
other tasks are rejected.
"""

import numpy as np

from bert_tf import files, notes
from bert_tf.checkpoints.file_keys import ORIGIN, TRAINING, FileKeys
from bert_tf.checkpoints.huggingface_config import CONFIG_NAME
from bert_tf.checkpoints.huggingface_task import generic_labels
from bert_tf.checkpoints.origin import Casing, Origin
from bert_tf.checkpoints.tensors import Checkpoint, StoredTensor, check_weights
from bert_tf.config import BertConfig
from bert_tf.errors import InputError, name_file
from bert_tf.tasks import Classifier
from bert_tf.tasks.metadata import TaskMetadata
from bert_tf.tokenization.token_files import TOKENIZER_NAME

METADATA_NAME = "metadata.json"
WEIGHTS_NAME = "model.weights.h5"
PRESET_TASK_NAME = "task.json"
TASK_WEIGHTS_NAME = "task.weights.h5"
CLASSIFIER = "BertTextClassifier"
PRESET_VOCABULARY_PATH = "assets/tokenizer/vocabulary.txt"
FORMAT_NAME = "KerasHub preset"

# config.json of a preset of KerasHub, and its object "config".
PRESET = FileKeys(
    followed=("config",),
    fixed={"class_name": ("BertBackbone",)},
    ignored={ORIGIN: ("module", "registered_name", "assets", "weights")},
)
PRESET_BACKBONE = FileKeys(
    followed=(
        "vocabulary_size",
        "num_layers",
        "num_heads",
        "hidden_dim",
        "intermediate_dim",
        "max_sequence_length",
        "num_segments",
        "dropout",
    ),
    ignored={
        ORIGIN: ("name",),
        TRAINING: ("trainable",),
        "the way of computing; this project sets its own": ("dtype",),
    },
)
PRESET_METADATA = FileKeys(
    ignored={
        ORIGIN: ("keras_version", "keras_hub_version", "date_saved", "tasks"),
        "the tensors show it": ("parameter_count",),
    }
)
PRESET_TOKENIZER = FileKeys(
    followed=("lowercase", "strip_accents"),
    fixed={
        "split": (True,),
        "suffix_indicator": ("##",),
        "oov_token": ("[UNK]",),
        "special_tokens": (),
        "special_tokens_in_strings": (False,),
    },
    ignored={
        ORIGIN: ("name", "config_file", "vocabulary"),
        TRAINING: ("trainable",),
        "each call of this project sets its own": ("dtype", "sequence_length"),
        "the vocabulary of BERT has no other splitting": ("split_on_cjk",),
    },
)
# task.json of a preset, and its object "config".
PRESET_TASK = FileKeys(
    followed=("class_name", "config"),
    ignored={ORIGIN: ("module", "registered_name")},
)
PRESET_CLASSIFIER = FileKeys(
    followed=("num_classes", "preprocessor"),
    fixed={"activation": ("linear", "softmax")},
    ignored={
        ORIGIN: ("name",),
        TRAINING: ("trainable", "dropout"),
        "config.json has it": ("backbone",),
        "the way of computing; this project sets its own": ("dtype",),
    },
)

# Keys of a backbone -> fields of BertConfig. Its activation is the tanh approximation of GELU.
FIELDS = {
    "vocabulary_size": "vocab_size",
    "num_layers": "num_hidden_layers",
    "num_heads": "num_attention_heads",
    "hidden_dim": "hidden_size",
    "intermediate_dim": "intermediate_size",
    "max_sequence_length": "max_position_embeddings",
    "num_segments": "type_vocab_size",
}
# Groups of the file -> canonical scopes.
EMBEDDINGS = {
    "reversible_embedding": "bert/embeddings/word_embeddings",
    "position_embedding": "bert/embeddings/position_embeddings",
    "embedding": "bert/embeddings/token_type_embeddings",
}
HEAD = "layers/dense/vars"  # In the file of a task.
DENSE = ("kernel", "bias")
NORM = ("gamma", "beta")
LAYER = {
    "_self_attention_layer/query_dense": ("attention/self/query", DENSE),
    "_self_attention_layer/key_dense": ("attention/self/key", DENSE),
    "_self_attention_layer/value_dense": ("attention/self/value", DENSE),
    "_self_attention_layer/output_dense": ("attention/output/dense", DENSE),
    "_self_attention_layer_norm": ("attention/output/LayerNorm", NORM),
    "_feedforward_intermediate_dense": ("intermediate/dense", DENSE),
    "_feedforward_output_dense": ("output/dense", DENSE),
    "_feedforward_layer_norm": ("output/LayerNorm", NORM),
}


class KerasHub(Origin):
    """KerasHub, whose presets contain files with the names of other origins."""

    vocabulary_names = (PRESET_VOCABULARY_PATH,)

    def owns(self, directory):
        """Returns whether the directory is a preset: it has model.weights.h5."""
        return directory.name is None and directory.folder.has_file(WEIGHTS_NAME)

    def find_config(self, directory, folder):
        """Returns the path of the preset's config.json."""
        return folder.join(CONFIG_NAME) if self.owns(directory) else None

    def read_config(self, directory, path):
        """Reads the config of the backbone."""
        if not self.owns(directory):
            return None
        values = directory.read_json_object(path)
        PRESET.check(values, path)
        if directory.folder.has_file(METADATA_NAME):
            metadata_path = directory.folder.join(METADATA_NAME)
            PRESET_METADATA.check(directory.read_json_object(metadata_path), metadata_path)
        backbone = values.get("config")
        if not isinstance(backbone, dict):
            raise InputError(f"{path}: contains no config of a backbone")
        PRESET_BACKBONE.check(backbone, path, "config.")
        settings = {FIELDS[key]: value for key, value in backbone.items() if key in FIELDS}
        if "dropout" in backbone:
            for name in ("hidden_dropout_prob", "attention_probs_dropout_prob"):
                settings[name] = backbone["dropout"]
        with name_file(path):
            return BertConfig.from_dict(settings)

    def read_casings(self, directory):
        """Yields the casing in tokenizer.json, and notes how KerasHub's tokenizer differs."""
        if not self.owns(directory) or not directory.folder.has_file(TOKENIZER_NAME):
            return
        path = directory.folder.join(TOKENIZER_NAME)
        values = directory.read_json_object(path).get("config")
        values = values if isinstance(values, dict) else {}
        PRESET_TOKENIZER.check(values, path, "config.")
        notes.tell(
            f"{path}: texts are tokenized like those of the original BERT; KerasHub also folds "
            "compatibility characters and splits some symbols differently, so a few texts have "
            "other IDs there"
        )
        yield Casing(bool(values.get("lowercase")), bool(values.get("strip_accents")), path)

    def read_task(self, directory):
        """Reads the classifier of a BertTextClassifier, whose labels have no names."""
        if not self.owns(directory) or not _has_head(directory):
            return None
        path = directory.folder.join(PRESET_TASK_NAME)
        values = directory.compute(_read_classifier, path)
        outputs = values.get("num_classes")
        preprocessor = values.get("preprocessor")
        settings = preprocessor.get("config") if isinstance(preprocessor, dict) else None
        if type(outputs) is not int:
            raise InputError(f"{path}: config.num_classes is {outputs!r}: must be an integer")
        with name_file(path):
            return TaskMetadata(
                Classifier.name,
                settings.get("sequence_length") if isinstance(settings, dict) else None,
                None,
                generic_labels(outputs) if outputs > 1 else (),
                source=PRESET_TASK_NAME,
            )

    def find_weights(self, directory):
        """Returns the path of model.weights.h5."""
        return directory.folder.join(WEIGHTS_NAME) if self.owns(directory) else None

    def read_weights(self, directory, path):
        """Reads all tensors, because they are in one file of HDF5."""
        if not path.endswith(WEIGHTS_NAME) or not self.owns(directory):
            return None
        tensors = _rename(_read_arrays(path), directory.config, path)
        if _has_head(directory):
            directory.compute(_read_classifier, directory.folder.join(PRESET_TASK_NAME))
            tensors |= _read_head(directory.folder.join(TASK_WEIGHTS_NAME))
        return Checkpoint(path, FORMAT_NAME, tensors)


KERAS_HUB = KerasHub()


def _has_head(directory):
    """Returns whether a preset has a head; without its weights, KerasHub creates a new one."""
    return all(map(directory.folder.has_file, (PRESET_TASK_NAME, TASK_WEIGHTS_NAME)))


def _read_classifier(directory, path):
    """Returns the arguments of the BertTextClassifier in a task.json.

    Raises:
      InputError: If the preset has another task, or an activation that is not supported.
    """
    values = directory.read_json_object(path)
    PRESET_TASK.check(values, path)
    class_name = values.get("class_name")
    config = values.get("config")
    if class_name != CLASSIFIER or not isinstance(config, dict):
        raise InputError(
            f"{path}: class_name is {class_name!r}: only {CLASSIFIER!r} is supported; to read "
            f"only the backbone, remove {PRESET_TASK_NAME} and {TASK_WEIGHTS_NAME}"
        )
    PRESET_CLASSIFIER.check(config, path, "config.")
    return config


def _read_head(path):
    """Returns the tensors of a classifier's head by canonical name, a dict of StoredTensor."""
    values = {
        name: value
        for name, value in _read_arrays(path).items()
        if not name.startswith("optimizer/")
    }
    if sorted(values) != [f"{HEAD}/{index}" for index in range(2)]:
        raise InputError(f"{path}: contains {', '.join(values)}, unlike a {CLASSIFIER}")
    kernel, bias = (check_weights(path, name, values[name]) for name in sorted(values))
    return {
        "output_weights": StoredTensor(list(kernel.shape[::-1]), lambda: kernel.T),
        "output_bias": StoredTensor(list(bias.shape), lambda: bias),
    }


def _read_arrays(path):
    """Returns the arrays of a file of HDF5, a dict of name to array."""
    import h5py

    with files.at(path).local_copy() as local:
        try:
            with h5py.File(local) as file:
                values = {}
                file.visititems(lambda name, item: _add(values, name, item))
        except OSError as error:
            raise InputError(f"{path}: is not HDF5, or is corrupted: {error}") from error
    return values


def _add(values, name, item):
    """Adds a data set of HDF5 to a dict of arrays."""
    if hasattr(item, "shape"):
        values[name] = np.asarray(item)


def _rename(values, config, path):
    """Returns the tensors by canonical name, a dict of StoredTensor.

    Args:
      values: Dict of name in the file to array.
      config: BertConfig.
      path: Path of the file, for error messages.
    """
    scopes = {f"layers/{group}/vars/0": name for group, name in EMBEDDINGS.items()}
    groups = {
        "layers/layer_normalization": ("bert/embeddings/LayerNorm", NORM),
        "layers/dense": ("bert/pooler/dense", DENSE),
    }
    for number in range(config.num_hidden_layers):
        layer = "layers/transformer_encoder" + (f"_{number}" if number else "")
        for part, (scope, leaves) in LAYER.items():
            groups[f"{layer}/{part}"] = (f"bert/encoder/layer_{number}/{scope}", leaves)
    for group, (scope, leaves) in groups.items():
        for index, leaf in enumerate(leaves):
            scopes[f"{group}/vars/{index}"] = f"{scope}/{leaf}"
    missing = next((name for name in scopes if name not in values), None)
    unknown = next((name for name in values if name not in scopes), None)
    if missing or unknown:
        problem = f"lacks {missing}" if missing else f"contains {unknown}"
        raise InputError(f"{path}: {problem}, unlike the backbone in {CONFIG_NAME}")
    tensors = {}
    for name, canonical in scopes.items():
        value = check_weights(path, name, values[name])
        if value.ndim == 3:  # [H, N, D], or [N, D, H] for the output of attention
            is_output = "output_dense" in name
            value = value.reshape([-1, value.shape[2]] if is_output else [value.shape[0], -1])
        elif canonical.endswith("bias"):
            value = value.reshape([-1])
        tensors[canonical] = StoredTensor(list(value.shape), lambda value=value: value)
    return tensors
