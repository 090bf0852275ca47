"""The original's checkpoints: tensors by variable name, as `bert/encoder/layer_0/attention/self/query/kernel`."""

import dataclasses

OPTIMIZER_SUFFIXES = ("/adam_m", "/adam_v")  # the slots of the original's AdamWeightDecayOptimizer
GLOBAL_STEP = "global_step"


@dataclasses.dataclass(frozen=True)
class StoredTensor:
    """A tensor in a checkpoint: its shape (list of int), and `read()`, which gives its value."""

    shape: list[int]
    reader: object
    key: str

    def read(self):
        """The value as a NumPy array."""
        return self.reader.get_tensor(self.key)


def read_tensors(reader):
    """The model's tensors in a name-based checkpoint: {variable name: StoredTensor}."""
    return {
        name: StoredTensor(shape, reader, name)
        for name, shape in reader.get_variable_to_shape_map().items()
        if name != GLOBAL_STEP and not name.endswith(OPTIMIZER_SUFFIXES)
    }


def original_names(name):
    """The original's variables that make up one of ours, in order, side by side on the last axis."""
    scope, separator, leaf = name.rpartition("qkv/")
    if not separator:
        return [name]
    return [f"{scope}{part}/{leaf}" for part in ("query", "key", "value")]
