"""Which of Hugging Face's weights a folder holds, told by the names of its files."""

import os

from bert_tf.errors import InputError
from bert_tf.files import exists, is_dir, is_file

WEIGHTS_NAME = "model.safetensors"
SHARDED_NAME = f"{WEIGHTS_NAME}.index.json"  # says which of several files has which tensor
PICKLE_NAMES = ("pytorch_model.bin", "pytorch_model.bin.index.json")
PICKLE_SUFFIXES = (".bin", ".bin.index.json", ".pt", ".pth")
WEIGHTS_SUFFIXES = (".safetensors", ".safetensors.index.json", *PICKLE_SUFFIXES)  # pickles only to be refused

TENSORFLOW_NAMES = ("checkpoint", "bert_model.ckpt.index")  # by which a folder holds a TensorFlow checkpoint


def weights_in(folder):
    """The path of a folder's model.safetensors, its index if it is in parts, or else its pickle; None without any."""
    paths = (os.path.join(folder, name) for name in (WEIGHTS_NAME, SHARDED_NAME, *PICKLE_NAMES))
    return next((path for path in paths if is_file(path)), None)


def is_hugging_face(checkpoint):
    """Whether a checkpoint is of Hugging Face: a file of its, or a folder that has one and no TensorFlow checkpoint."""
    if checkpoint.endswith(WEIGHTS_SUFFIXES):
        return True
    return is_dir(checkpoint) and weights_in(checkpoint) is not None and not any(
        exists(os.path.join(checkpoint, name)) for name in TENSORFLOW_NAMES)


def check_no_pickle(checkpoint):
    """Raises InputError if a checkpoint, a file or a folder, has its weights in a pickle; says how to convert it."""
    path = checkpoint
    if not path.endswith(WEIGHTS_SUFFIXES) and is_hugging_face(checkpoint):
        path = weights_in(checkpoint)
    if path.endswith(PICKLE_SUFFIXES):
        raise InputError(f"{path}: is a pickle, which can run any code when it is loaded. Where transformers is "
                         "installed, convert it with AutoModelForPreTraining.from_pretrained(FOLDER)"
                         f".save_pretrained(NEW_FOLDER), which writes {WEIGHTS_NAME}")
