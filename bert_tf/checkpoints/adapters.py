"""Low-rank adapters in the checkpoints of a training run.

They are merged when a checkpoint is read. For each kernel, it contains `lora_a` [HI, RA] and
`lora_b` [RA, HO] under the kernel's canonical name, such as
`bert/encoder/layer_0/attention/self/query/lora_a`, and one scale for all.

`bert_tf.checkpoints.peft` reads and writes adapters in a separate directory.
"""

import numpy as np

SCALE = "bert/lora_scale"
A = "/lora_a"
B = "/lora_b"


def is_adapter(name):
    """Returns whether the variable or tensor with this name belongs to adapters."""
    return name == SCALE or name.endswith((A, B))


def merge_adapters(tensors):
    """Returns canonical tensors with each adapter merged into its kernel.

    Tensors without adapters are returned unchanged.
    """
    scopes = [name.removesuffix(A) for name in tensors if name.endswith(A)]
    if not scopes:
        return tensors
    scale = float(tensors[SCALE].read())
    plain = {name: tensor for name, tensor in tensors.items() if not is_adapter(name)}
    for name in scopes:
        kernel, a, b = (tensors[f"{name}{leaf}"] for leaf in ("/kernel", A, B))
        plain[f"{name}/kernel"] = kernel.map(
            kernel.shape, lambda value, a=a, b=b: value + np.float32(scale) * (a.read() @ b.read())
        )
    return plain
