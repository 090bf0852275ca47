"""Finds checkpoints, and Hugging Face's weights in a directory, by the names of files."""

import contextlib
import os
import re

from bert_tf import files, huggingface_config
from bert_tf.errors import InputError, name_file
from bert_tf.files import read_json_object
from bert_tf.latest_checkpoint import find_latest_checkpoint
from bert_tf.model_folder import saved_models

ORIGINAL_INDEX = "bert_model.ckpt.index"  # In the original's published archives.
WEIGHTS_NAME = "model.safetensors"
SHARDED_NAME = f"{WEIGHTS_NAME}.index.json"  # Maps tensors to one of several files.
PICKLE_NAMES = ("pytorch_model.bin", "pytorch_model.bin.index.json")
PICKLE_SUFFIXES = (".bin", ".bin.index.json", ".pt", ".pth")
# The name in transformers, which converts it in version 4.46, but not 4.51 or 4.57.
KERAS_NAME = "tf_model.h5"
KERAS_SUFFIXES = (".h5", ".keras")
REJECTED_SUFFIXES = (*PICKLE_SUFFIXES, *KERAS_SUFFIXES)
WEIGHTS_SUFFIXES = (".safetensors", ".safetensors.index.json", *REJECTED_SUFFIXES)
EXAMPLE = "google-bert/bert-base-uncased"  # A model of Hugging Face's hub.


def check_exists(path, argument="path"):
    """Raises InputError if the path of an argument does not exist.

    It can be a directory, a file, or the prefix of a checkpoint.
    """
    if not any(files.at(name).exists() for name in (path, f"{path}.index")):
        is_hub_name = re.fullmatch(r"\w[\w.-]*/[\w.-]+", path) or path.startswith("bert-")
        raise InputError(
            f"does not exist; {describe_download(path if is_hub_name else EXAMPLE)}", argument, path
        )


def describe_download(name=EXAMPLE):
    """Returns how to download a model of Hugging Face's hub, for messages."""
    name = name if "/" in name else f"google-bert/{name}"
    return f"to download a model: hf download {name} --local-dir {name.partition('/')[2]}"


def weights_in(folder):
    """Returns the path of the weights in a directory in Hugging Face's format, or None.

    This is the model.safetensors, its index if it is sharded, or else a file that is rejected.
    """
    paths = (
        os.path.join(folder, name)
        for name in (WEIGHTS_NAME, SHARDED_NAME, *PICKLE_NAMES, KERAS_NAME)
    )
    return next((path for path in paths if files.at(path).is_file()), None)


def is_hugging_face(checkpoint):
    """Returns whether a checkpoint is in Hugging Face's format.

    False for a directory that also contains a TensorFlow checkpoint.
    """
    if checkpoint.endswith(WEIGHTS_SUFFIXES):
        return True
    return (
        files.at(checkpoint).is_dir()
        and weights_in(checkpoint) is not None
        and not (
            files.at(os.path.join(checkpoint, ORIGINAL_INDEX)).exists()
            or find_latest_checkpoint(checkpoint)
        )
    )


def check_loadable(checkpoint):
    """Raises InputError if a checkpoint cannot be loaded into a model of this project.

    Rejects pickles, files of Keras, exports, and unsupported models according to Hugging Face's
    config.json.
    """
    export = saved_models.find_version(checkpoint)
    if export and not (
        saved_models.is_encoder(export)
        or weights_in(checkpoint)
        or find_latest_checkpoint(checkpoint)
    ):
        raise InputError(
            f"{checkpoint}: is an export, for run.predict and bert_tf.load; set its checkpoint"
        )
    path = checkpoint
    if not path.endswith(WEIGHTS_SUFFIXES) and is_hugging_face(checkpoint):
        path = weights_in(checkpoint)
    if not path.endswith(WEIGHTS_SUFFIXES):
        return
    config_path = os.path.join(os.path.dirname(path), huggingface_config.CONFIG_NAME)
    values = {}
    with contextlib.suppress(InputError, OSError):  # its reader reports a missing or corrupted file
        values = read_json_object(config_path)
    with name_file(config_path):
        huggingface_config.check_model_type(values)
    architectures = values.get("architectures")
    name = (
        architectures[0]
        if isinstance(architectures, list) and architectures
        else "AutoModelForPreTraining"
    )
    if path.endswith(PICKLE_SUFFIXES):
        raise InputError(
            f"{path}: is a pickle, which can run arbitrary code when it is loaded; convert it to "
            f"{WEIGHTS_NAME} with transformers: "
            f"{name}.from_pretrained(OLD_DIR).save_pretrained(NEW_DIR)"
        )
    if path.endswith(KERAS_SUFFIXES):
        raise InputError(
            f"{path}: is a file of Keras, which is not supported; "
            + (
                f"convert it to {WEIGHTS_NAME} with transformers 4.46 and PyTorch: "
                f"{name}.from_pretrained(OLD_DIR, from_tf=True).save_pretrained(NEW_DIR)"
                if os.path.basename(path) == KERAS_NAME
                else (
                    "load it into its model of bert_tf, and save that with "
                    "model.save_pretrained(DIRECTORY, tokenizer)"
                )
            )
        )
