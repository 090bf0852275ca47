"""PEFT's low-rank adapters: `adapter_config.json` and `adapter_model.safetensors`.

This is also the format in which a fine-tuning run with LoRA writes its adapters. An adapter is
merged into the weights of its base when it is read.

PEFT's matrices are A [RA, HI] and B [HO, RA]; a kernel [HI, HO] becomes W + s (B A)^T. The scale s
is alpha / RA, or alpha / sqrt(RA) with rank-stabilized adapters. Tensors without "lora" replace
those of the base: the head, other saved modules, and trained biases.
"""

import dataclasses
import functools
import hashlib
import json
import math
import os
import re

import numpy as np

from bert_tf import files, notes
from bert_tf.checkpoints.adapters import SCALE, A, B
from bert_tf.checkpoints.file_keys import ORIGIN, TRAINING, FileKeys
from bert_tf.checkpoints.folder import Folder
from bert_tf.checkpoints.huggingface import HUGGING_FACE
from bert_tf.checkpoints.huggingface_config import CONFIG_NAME
from bert_tf.checkpoints.huggingface_keys import TRANSPOSED, canonical_name, to_huggingface_key
from bert_tf.checkpoints.huggingface_task import generic_labels
from bert_tf.checkpoints.origin import Origin
from bert_tf.checkpoints.tensors import StoredTensor, check_weights
from bert_tf.errors import InputError
from bert_tf.files import new_files, read_json_object
from bert_tf.tasks.metadata import TaskMetadata
from bert_tf.variables import POOLER

# adapter_config.json of PEFT.
ADAPTER_CONFIG = FileKeys(
    followed=(
        "base_model_name_or_path",
        "r",
        "lora_alpha",
        "rank_pattern",
        "alpha_pattern",
        "use_rslora",
        "task_type",
    ),
    fixed={
        "peft_type": ("LORA",),
        "use_dora": (False,),
        "lora_bias": (False,),
        "fan_in_fan_out": (False,),
        "use_qalora": (False,),
        "ensure_weight_tying": (False,),
        "init_lora_weights": (True, False, "gaussian", "orthogonal"),
        "loftq_config": ({},),
        "layer_replication": (),
        "megatron_config": (),
        "trainable_token_indices": (),
        "target_parameters": (),
        "alora_invocation_tokens": (),
        "arrow_config": (),
        "kasa_config": (),
        "use_bdlora": (),
        "monteclora_config": (),
        "velora_config": (),
    },
    ignored={
        "the names of the tensors show it": (
            "target_modules",
            "exclude_modules",
            "layers_to_transform",
            "layers_pattern",
            "modules_to_save",
            "bias",
        ),
        TRAINING: (
            "lora_dropout",
            "inference_mode",
            "eva_config",
            "corda_config",
            "lora_ga_config",
        ),
        ORIGIN: ("peft_version", "revision", "auto_mapping"),
        "without the setting that uses it": ("megatron_core", "qalora_group_size"),
    },
)

ADAPTER_CONFIG_NAME = "adapter_config.json"
WEIGHTS_NAME = "adapter_model.safetensors"
PREFIX = "base_model.model."
DIGEST = "base_sha256"  # Key of the metadata that these scripts add.
DEFAULT_RANK = 8
DEFAULT_ALPHA = 8
# Kind of task -> PEFT's task type.
TASK_TYPES = {
    "classifier": "SEQ_CLS",
    "token_classifier": "TOKEN_CLS",
    "span_labeler": "QUESTION_ANS",
    "encoder": "FEATURE_EXTRACTION",
}
_MATRIX = re.compile(r"(.+)\.lora_(?:embedding_)?([AB])(?:\.weight)?")
# Copies of modules_to_save that PEFT adds with bias="all".
_COPY = re.compile(r"\.(original_module|modules_to_save)\.")


@dataclasses.dataclass(frozen=True)
class LowRank:
    """The change of a matrix of the base: scale x left x right."""

    scale: float
    left: np.ndarray  # [HI, RA]
    right: np.ndarray  # [RA, HO]


@dataclasses.dataclass(frozen=True)
class PeftAdapter:
    """An adapter that was read from a directory.

    Attributes:
      path: Path of its directory.
      base: Name or path of the base model, or None.
      task_type: PEFT's name of the task, or None.
      updates: Dict of canonical name of a matrix to its LowRank.
      tensors: Dict of canonical name to float32 array, which replaces the base's tensor.
      digest: SHA-256 of the adapted matrices of the base, or None for adapters of other programs.
    """

    path: str
    base: str | None
    task_type: str | None
    updates: dict[str, LowRank]
    tensors: dict[str, np.ndarray]
    digest: str | None

    def apply(self, tensors, path):
        """Returns the canonical tensors of the base with this adapter merged into them.

        Args:
          tensors: Dict of canonical name to StoredTensor, the base's.
          path: Path of the base, for messages.

        Raises:
          InputError: If the base lacks an adapted matrix or has another shape, or if it is not the
            one that the adapter was trained on, as far as that is known.
        """
        merged = dict(tensors)
        for name, update in self.updates.items():
            shape = [update.left.shape[0], update.right.shape[1]]
            if name not in tensors or tensors[name].shape != shape:
                found = tensors[name].shape if name in tensors else "missing"
                raise InputError(
                    f"{self.path}: adapts {name} of shape {shape}, but it is {found} in {path}; "
                    "set the base model of the adapter"
                )
        for name, value in self.tensors.items():
            is_new = name not in tensors and (
                name.startswith(POOLER) or not name.startswith("bert/")
            )
            if not is_new and (name not in tensors or tensors[name].shape != list(value.shape)):
                raise InputError(
                    f"{self.path}: contains {name} of shape {list(value.shape)}, which {path} does "
                    "not have; set the base model of the adapter"
                )
        if self.digest and self.digest != compute_tensor_digest(tensors, self.updates):
            raise InputError(f"{self.path}: was trained on weights other than those of {path}")
        for name, update in self.updates.items():
            merged[name] = tensors[name].map(
                tensors[name].shape,
                lambda value, update=update: (
                    value + np.float32(update.scale) * (update.left @ update.right)
                ),
            )
        return merged | {
            name: StoredTensor(list(value.shape), functools.partial(np.asarray, value))
            for name, value in self.tensors.items()
        }


class Peft(Origin):
    """PEFT: an adapter whose base is in another directory, or next to it."""

    def find_outer_folder(self, directory, folder):
        """Returns the directory of an adapter's base, whose config and tokenizer apply."""
        base = _find_base(directory)
        return Folder.read(base) if base else None

    def find_weights(self, directory):
        """Returns the path of the adapter, if its base is not in the directory."""
        return directory.folder.join(WEIGHTS_NAME) if _is_alone(directory) else None

    def check_weights(self, directory, path):
        """Rejects an adapter whose base is not a local directory."""
        if _find_base(directory) is None:
            config_path = directory.folder.join(ADAPTER_CONFIG_NAME)
            base = directory.read_json_object(config_path).get("base_model_name_or_path")
            raise InputError(
                f"{config_path}: the base model, {base!r}, is not a local directory; download it, "
                "and merge both with run.convert_checkpoint --input=BASE "
                f"--adapter={directory.folder.path}"
            )

    def read_weights(self, directory, path):
        """Reads the base of an adapter, without an adapter in its directory, like PEFT."""
        if not (_is_alone(directory) and path == directory.folder.join(WEIGHTS_NAME)):
            return None
        open_directory = type(directory).open
        return open_directory(open_directory(_find_base(directory)).weights_path).checkpoint

    def adapt_weights(self, directory, checkpoint):
        """Merges the adapter in the directory into the weights."""
        if directory.name is not None or not directory.folder.has_file(ADAPTER_CONFIG_NAME):
            return checkpoint
        adapter = read(directory.folder.path)
        notes.tell(f"{adapter.path}: merging the adapter into {checkpoint.path}")
        return dataclasses.replace(
            checkpoint, tensors=adapter.apply(checkpoint.tensors, checkpoint.path)
        )

    def read_task(self, directory):
        """Reads the kind in adapter_config.json, if the adapter has a head; else the base's."""
        if not _is_alone(directory) or _find_base(directory) is None:
            return None
        adapter = directory.read(read, directory.folder.path)
        kind = next((kind for kind, name in TASK_TYPES.items() if name == adapter.task_type), None)
        base = HUGGING_FACE.read_task(directory)
        head = adapter.tensors.get("output_bias")
        if kind not in ("classifier", "token_classifier") or head is None:
            return base
        if base is not None and base.kind == kind and len(base.labels or ("",)) == len(head):
            return base
        labels = generic_labels(len(head)) if len(head) > 1 or kind != "classifier" else ()
        return TaskMetadata(kind, None, None, labels, source=ADAPTER_CONFIG_NAME)


PEFT = Peft()


def _is_alone(directory):
    """Returns whether a ModelDirectory contains an adapter without its base."""
    return (
        directory.name is None
        and directory.folder.has_file(ADAPTER_CONFIG_NAME)
        and not directory.folder.has_file(CONFIG_NAME)
    )


def _find_base(directory):
    """Returns the path of the base in another directory; None if it is not a local one."""
    if not _is_alone(directory):
        return None
    config = directory.read_json_object(directory.folder.join(ADAPTER_CONFIG_NAME))
    base = config.get("base_model_name_or_path")
    return base if isinstance(base, str) and base and files.at(base).is_dir() else None


def read(folder):
    """Reads the PeftAdapter in a directory.

    Raises:
      InputError: If a file is missing or corrupted, or if this project does not support a setting
        or a tensor, with its name.
    """
    folder = (
        os.path.dirname(folder) if folder.endswith((ADAPTER_CONFIG_NAME, WEIGHTS_NAME)) else folder
    )
    config_path = os.path.join(folder, ADAPTER_CONFIG_NAME)
    if not files.at(config_path).exists():
        raise InputError(
            f"{folder}: contains no adapter ({ADAPTER_CONFIG_NAME} and {WEIGHTS_NAME})"
        )
    config = read_json_object(config_path)
    ADAPTER_CONFIG.check(config, config_path)
    path = os.path.join(folder, WEIGHTS_NAME)
    values, metadata = _read_tensors(path)
    matrices = {}
    tensors = {}
    for key, value in values.items():
        name = key.removeprefix(PREFIX).replace(".base_layer.", ".")
        match = _MATRIX.fullmatch(name)
        if match:
            matrices.setdefault(match[1], {})[match[2]] = value
        elif not _is_copy(name, key, values):
            canonical = _get_canonical_name(name, path)
            tensors[canonical] = value.T if canonical.endswith(TRANSPOSED) else value
    base = config.get("base_model_name_or_path")
    return PeftAdapter(
        path=folder,
        base=base if isinstance(base, str) else None,
        task_type=config.get("task_type"),
        updates={
            _get_canonical_name(f"{module}.weight", path): _get_update(module, pair, config, path)
            for module, pair in matrices.items()
        },
        tensors=tensors,
        digest=metadata.get(DIGEST),
    )


def _read_tensors(path):
    """Returns the float32 arrays of a safetensors file by key, and its metadata."""
    if not files.at(path).exists():
        raise InputError(f"{path}: does not exist; save the adapter with safe_serialization=True")
    from bert_tf.checkpoints.safetensors_file import open_file

    file = open_file(path)
    keys = file.keys()
    values = {key: check_weights(path, key, file.get_tensor(key)) for key in keys}
    return values, file.metadata() or {}


def _is_copy(name, key, values):
    """Returns whether a tensor is a copy that PEFT does not read; see _COPY."""
    return bool(_COPY.search(name)) and _COPY.sub(".", key) in values


def _get_canonical_name(key, path):
    """Returns the canonical name of a key of PEFT; raises InputError if no BERT has it."""
    name = canonical_name(key)
    if name is None or to_huggingface_key(name) is None:
        raise InputError(f"{path}: contains {key}, which is not a weight of BERT")
    return name


def _get_update(module, pair, config, path):
    """Returns the LowRank of a module.

    Args:
      module: Name of the module in transformers.
      pair: Dict of "A" and "B" to its matrices.
      config: Dict of the adapter_config.json.
      path: Path of the file, for messages.
    """
    if pair.keys() != {"A", "B"} or pair["A"].shape[0] != pair["B"].shape[-1]:
        raise InputError(f"{path}: {module} must have lora_A [R, in] and lora_B [out, R]")
    rank = _match_pattern(config.get("rank_pattern"), module, config.get("r", DEFAULT_RANK))
    if rank != pair["A"].shape[0]:
        raise InputError(
            f"{path}: {module} has an adapter of rank {pair['A'].shape[0]}, but "
            f"{ADAPTER_CONFIG_NAME} says {rank}"
        )
    alpha = _match_pattern(
        config.get("alpha_pattern"), module, config.get("lora_alpha", DEFAULT_ALPHA)
    )
    divisor = math.sqrt(rank) if config.get("use_rslora") else rank
    if _get_canonical_name(f"{module}.weight", path).endswith((*TRANSPOSED, "_embeddings")):
        return LowRank(alpha / divisor, pair["A"].T, pair["B"].T)
    return LowRank(alpha / divisor, pair["B"], pair["A"])


def _match_pattern(patterns, module, default):
    """Returns the value of the first pattern that matches the end of a module's name."""
    for pattern, value in (patterns or {}).items():
        if re.match(rf"(.*\.)?({pattern})$", module):
            return value
    return default


def compute_tensor_digest(tensors, names):
    """Returns the SHA-256 of these canonical matrices, StoredTensors."""
    digest = hashlib.sha256()
    for name in sorted(names):
        digest.update(np.ascontiguousarray(tensors[name].read()))
    return digest.hexdigest()


def write(folder, tensors, saved, *, kind, base):
    """Writes the adapters of a model, and the weights that were trained with them.

    Args:
      folder: Path of the directory, which is created.
      tensors: Dict of canonical name to StoredTensor, from model_tensors; kernels have their values
        before training.
      saved: Canonical names of the tensors that were trained together with the adapters: the pooler
        and the head.
      kind: Name of the kind of task.
      base: Path of the checkpoint that training began with, or None.

    Returns:
      int. Size of the weights in bytes.
    """
    from bert_tf.checkpoints.safetensors_file import to_bytes

    scopes = sorted(name.removesuffix(A) for name in tensors if name.endswith(A))
    modules = {scope: _get_module(f"{scope}/kernel") for scope in scopes}
    values = {}
    for scope, module in modules.items():
        values[f"{PREFIX}{module}.lora_A.weight"] = tensors[f"{scope}{A}"].read().T
        values[f"{PREFIX}{module}.lora_B.weight"] = tensors[f"{scope}{B}"].read().T
    for name in saved:
        value = tensors[name].read()
        key = to_huggingface_key(name) or name.replace("/", ".")
        values[f"{PREFIX}{key}"] = value.T if name.endswith("/kernel") else value
    rank = tensors[f"{scopes[0]}{A}"].shape[1]
    config = {
        "peft_type": "LORA",
        "task_type": TASK_TYPES.get(kind),
        "base_model_name_or_path": base,
        "r": rank,
        "lora_alpha": _to_number(float(tensors[SCALE].read()) * rank),
        "target_modules": list(modules.values()),
        "modules_to_save": sorted({_get_saved_module(name) for name in saved}),
        "bias": "none",
        "inference_mode": True,
    }
    content = to_bytes(
        {key: np.ascontiguousarray(value) for key, value in values.items()},
        {
            "format": "pt",
            DIGEST: compute_tensor_digest(tensors, [f"{scope}/kernel" for scope in scopes]),
        },
    )
    with new_files(folder) as unfinished:
        with open(os.path.join(unfinished, ADAPTER_CONFIG_NAME), "w", encoding="utf-8") as file:
            file.write(json.dumps(config, indent=2, sort_keys=True) + "\n")
        with open(os.path.join(unfinished, WEIGHTS_NAME), "wb") as file:
            file.write(content)
    return len(content)


def _get_module(name):
    """Returns the module in transformers of a canonical tensor name."""
    return (to_huggingface_key(name) or name.replace("/", ".")).rpartition(".")[0]


def _get_saved_module(name):
    """Returns the entry of modules_to_save for a canonical name: the pooler, or a head."""
    return "pooler" if name.startswith(POOLER) else _get_module(name)


def _to_number(value):
    """Returns an int if a float is one."""
    value = round(value, 6)
    return int(value) if value.is_integer() else value
