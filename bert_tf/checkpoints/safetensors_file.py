"""Files of tensors in the safetensors format, local or remote."""

import safetensors
import safetensors.numpy

from bert_tf import files
from bert_tf.errors import InputError


def open_file(path):
    """Opens a safetensors file, whose tensors are read lazily.

    Raises:
      InputError: If the file is not in this format, or is corrupted.
      OSError: If a remote file cannot be read.
    """
    with files.at(path).local_copy() as local:  # mapped into memory, so a copy can be deleted
        try:
            return safetensors.safe_open(local, framework="numpy")
        # OSError: for example, a directory of that name.
        except (safetensors.SafetensorError, OSError) as error:
            raise InputError(
                f"{path}: is not a safetensors file, or is corrupted: {error}"
            ) from error


def to_bytes(values, metadata):
    """Returns the content of a safetensors file.

    Args:
      values: Dict of name -> array, contiguous in memory.
      metadata: Dict of str to str.
    """
    return safetensors.numpy.save(values, metadata)


def write_file(path, values, metadata, subject):
    """Writes a safetensors file to a local path; raises OSError if it cannot be written.

    For `values` and `metadata`, see `to_bytes`. `subject`: str. Beginning of the error message.
    """
    try:
        safetensors.numpy.save_file(values, path, metadata=metadata)
    except safetensors.SafetensorError as error:  # a full disk, for example
        raise OSError(f"{subject}: cannot be written: {error}") from error
