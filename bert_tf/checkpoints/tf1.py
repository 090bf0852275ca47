"""The original's checkpoints: tensors by variable name, as `bert/encoder/layer_0/attention/self/query/kernel`."""

import functools
import os

import tensorflow as tf

from bert_tf.checkpoints import tensorflow_file
from bert_tf.checkpoints.tensors import Checkpoint
from bert_tf.files import new_files

KIND = "TF1 checkpoint"

OPTIMIZER_SUFFIXES = ("/adam_m", "/adam_v")  # the slots of the original's AdamWeightDecayOptimizer
GLOBAL_STEP = "global_step"


def read(file):
    """Reads a TensorFlowFile that the original, or `write`, wrote; optimizer slots are left out."""
    tensors = {name: file.tensor(name) for name in file
               if name != GLOBAL_STEP and not name.endswith(OPTIMIZER_SUFFIXES)}
    return Checkpoint(file.prefix, KIND, tensors)


def write(folder, tensors, config):
    """Writes `bert_model.ckpt` and `bert_config.json`, as the original's archives have them, without optimizer slots.

    `tf.train.load_checkpoint` and the Saver of TensorFlow 1 read it.

    Args:
      folder: where the files go; made if missing. Files of these names are replaced.
      tensors: {canonical name: StoredTensor}. They are in memory together, once.
      config: BertConfig of the model.

    Returns:
      The names that the format has no place for, sorted: none.
    """
    names = sorted(tensors)
    values = [tf.identity(tensors[name].read()) for name in names]  # tf.constant would keep the NumPy array as well
    with new_files(folder) as unfinished:
        tf.raw_ops.SaveV2(
            prefix=os.path.join(unfinished, tensorflow_file.CHECKPOINT_NAME), tensor_names=names,
            shape_and_slices=[""] * len(names), tensors=values)
        tensorflow_file.write_config(unfinished, config)
    return ()


def original_names(name):
    """The original's variables that make up one of ours, in order, side by side on the last axis."""
    scope, separator, leaf = name.rpartition("qkv/")
    if not separator:
        return [name]
    return [f"{scope}{part}/{leaf}" for part in ("query", "key", "value")]


def original_tensors(name, tensor):
    """The original's tensors that make up one of ours, a StoredTensor: {canonical name: StoredTensor}."""
    names = original_names(name)
    if len(names) == 1:
        return {name: tensor}
    width = tensor.shape[-1] // len(names)
    shape = [*tensor.shape[:-1], width]
    return {each: tensor.map(shape, functools.partial(_columns, start=number * width, width=width))
            for number, each in enumerate(names)}


def _columns(value, start, width):
    return value[..., start : start + width]
