"""Low-rank adapters in checkpoints.

They are merged when a training checkpoint is read, or written to a separate small file.

The file is in the safetensors format. For each kernel, it contains `lora_a` [K, R] and `lora_b` [R,
M] under the kernel's canonical name, such as `bert/encoder/layer_0/attention/self/query/lora_a`. It
also contains the head's tensors. The metadata have the scale, and a digest of the kernels that the
adapters were trained for.
"""

import dataclasses
import functools
import hashlib

import numpy as np

from bert_tf.checkpoints.tensors import StoredTensor, check_weights
from bert_tf.errors import InputError
from bert_tf.files import new_file

SCALE = "bert/lora_scale"  # Name of the variable, and key in the metadata.
A = "/lora_a"
B = "/lora_b"
FORMAT = "bert_tf adapter"
DIGEST = "base_sha256"


def is_adapter(name):
    """Returns whether the variable or tensor with this name belongs to adapters."""
    return name == SCALE or name.endswith((A, B))


def merge_adapters(tensors, scale=None):
    """Returns canonical tensors with each adapter merged into its kernel.

    Tensors without adapters are returned unchanged.

    `scale`: float. Factor of the adapters' output; None to read it from the tensors.
    """
    scopes = [name.removesuffix(A) for name in tensors if name.endswith(A)]
    if not scopes:
        return tensors
    scale = float(tensors[SCALE].read()) if scale is None else scale
    plain = {name: tensor for name, tensor in tensors.items() if not is_adapter(name)}
    for name in scopes:
        kernel, a, b = (tensors[f"{name}{leaf}"] for leaf in ("/kernel", A, B))
        plain[f"{name}/kernel"] = kernel.map(
            kernel.shape, lambda value, a=a, b=b: value + np.float32(scale) * (a.read() @ b.read())
        )
    return plain


def write(path, tensors, heads):
    """Writes the adapters of a model, and its head, to a file; returns its size in bytes.

    Args:
      path: Path of the file.
      tensors: Dict of canonical name to StoredTensor, from model_tensors; kernels have their values
        before training.
      heads: Canonical names of the tensors that were trained together with the adapters.
    """
    from bert_tf.checkpoints.safetensors_file import to_bytes

    names = sorted({*heads, *(name for name in tensors if name.endswith((A, B)))})
    scale = float(tensors[SCALE].read())
    values = {name: np.ascontiguousarray(tensors[name].read()) for name in names}
    content = to_bytes(
        values, {"format": FORMAT, SCALE: repr(scale), DIGEST: _digest(tensors, names)}
    )
    with new_file(path, "wb") as file:
        file.write(content)
    return len(content)


def apply_adapter_file(checkpoint, path):
    """Merges the adapters of a file of `write` into a Checkpoint, and adds the head of the file.

    Raises:
      InputError: If the file does not exist, is not one of `write`, or the checkpoint is not the
        one that the adapters were trained on.
    """
    from bert_tf.checkpoints.safetensors_file import open_file

    subject = f"`adapter`={path}"
    with open_file(path, subject) as file:
        metadata = file.metadata() or {}
        values = {
            key: check_weights(subject, key, file.get_tensor(key))
            for key in file.keys()  # noqa: SIM118, not a dict
        }
    scopes = {name.removesuffix(A) for name in values if name.endswith(A)}
    if metadata.get("format") != FORMAT:
        raise InputError(f"`adapter`={path}: does not contain adapters of these scripts")
    tensors = {
        name: StoredTensor(list(value.shape), functools.partial(np.asarray, value))
        for name, value in values.items()
    }
    base = {name: tensor for name, tensor in checkpoint.tensors.items() if name.startswith("bert/")}
    if {f"{scope}/kernel" for scope in scopes} - base.keys() or _digest(base, tensors) != metadata[
        DIGEST
    ]:
        raise InputError(
            f"`adapter`={path}: was trained on weights other than those of {checkpoint.path}"
        )
    return dataclasses.replace(
        checkpoint,
        kind=f"{checkpoint.kind} and {path}",
        tensors=merge_adapters({**base, **tensors}, float(metadata[SCALE])),
    )


def _digest(tensors, names):
    """Returns the SHA-256 of the kernels that have adapters among `names`."""
    digest = hashlib.sha256()
    for name in sorted(names):
        if name.endswith(A):
            digest.update(np.ascontiguousarray(tensors[f"{name.removesuffix(A)}/kernel"].read()))
    return digest.hexdigest()
