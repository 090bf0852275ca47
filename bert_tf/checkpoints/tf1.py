"""The original's checkpoints: tensors by variable name, such as `bert/encoder/layer_0/attention/self/query/kernel`."""

import os

import tensorflow as tf

from bert_tf.checkpoints import tensorflow_file
from bert_tf.checkpoints.tensors import Checkpoint
from bert_tf.files import new_files

KIND = "TF1 checkpoint"

OPTIMIZER_SUFFIXES = ("/adam_m", "/adam_v")  # Slots of the original's AdamWeightDecayOptimizer.
GLOBAL_STEP = "global_step"


def read(file):
    """Reads a TensorFlowFile of the original or of `write`, without optimizer slots."""
    tensors = {name: file.tensor(name) for name in file
               if name != GLOBAL_STEP and not name.endswith(OPTIMIZER_SUFFIXES)}
    return Checkpoint(file.prefix, KIND, tensors)


def write(folder, tensors, config):
    """Writes `bert_model.ckpt` and `bert_config.json`, as in the original's archives, without optimizer slots.

    `tf.train.load_checkpoint` and the Saver of TensorFlow 1 can read it.

    Args:
      folder: Output directory; created if it does not exist. Existing files with these names are overwritten.
      tensors: Dict of canonical name to StoredTensor. All are in memory at the same time, once.
      config: BertConfig of the model.

    Returns:
      Tuple of str. Sorted names of tensors that the format does not support: empty.
    """
    names = sorted(tensors)
    values = [tf.identity(tensors[name].read()) for name in names]  # tf.constant would also keep the NumPy array
    with new_files(folder) as unfinished:
        tf.raw_ops.SaveV2(
            prefix=os.path.join(unfinished, tensorflow_file.CHECKPOINT_NAME), tensor_names=names,
            shape_and_slices=[""] * len(names), tensors=values)
        tensorflow_file.write_config(unfinished, config)
    return ()
