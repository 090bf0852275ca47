"""The questions that a `ModelDirectory` asks each origin of models. Does not import TensorFlow.

Programs write their files next to those of others: a directory can contain a checkpoint of the
original BERT, the tokenizer of Hugging Face, and a task.json of this project. Therefore, each
origin is queried for each part of a model, and returns None if no file in the directory belongs to
it.
"""

import typing


class Casing(typing.NamedTuple):
    """The casing of a tokenizer."""

    do_lower_case: bool | None  # None if it is unknown.
    strip_accents: bool | None  # None if it is unknown.
    path: str | None  # Path of the file, or name of the directory, that determines the casing.


class Origin:
    """A program that writes models. Its methods describe a directory without files of this origin.

    The argument `directory` is a `bert_tf.checkpoints.directory.ModelDirectory`, `folder` one of
    its `bert_tf.checkpoints.folder.Folder`s. Files are read with `directory.read`, which reads each
    once. All methods raise InputError with the path of a file that is corrupted or not supported.

    Attributes:
      vocabulary_names: Tuple of str. Names of the files with a vocabulary.
      is_for_serving: bool. Whether `read_task` only describes predictions, not the trained model.
    """

    vocabulary_names = ()
    is_for_serving = False

    def owns(self, directory):
        """Returns whether all files come from this origin, so that no other one is queried."""
        return False

    def find_outer_folder(self, directory, folder):
        """Returns the Folder of a model that has its weights in the directory `folder` inside."""
        return

    def find_config(self, directory, folder):
        """Returns the path of the config in a folder."""
        return

    def read_config(self, directory, path):
        """Returns the BertConfig in a file; None if the file is not of this origin."""
        return

    def read_casings(self, directory):
        """Yields a Casing for each file that determines the tokenizer, the most important first."""
        return iter(())

    def read_task(self, directory):
        """Returns the TaskMetadata of the model."""
        return

    def find_weights(self, directory):
        """Returns the path of the weights: a file, or the prefix of a TensorFlow checkpoint.

        If `directory.name` is not None, it is the name of a file or the prefix.
        """
        return

    def check_weights(self, directory, path):
        """Raises InputError if the weights that `find_weights` found can never be read."""

    def list_weight_files(self, directory, path):
        """Returns the paths of the files of the weights that it found, a list of str."""
        return [path]

    def read_weights(self, directory, path):
        """Opens weights as `bert_tf.checkpoints.tensors.Checkpoint`; None for another origin's.

        The origin that found the weights is queried first. Others use the same file names.
        """
        return

    def adapt_weights(self, directory, checkpoint):
        """Returns the Checkpoint with the changes of further files in the directory."""
        return checkpoint

    def describe_weights(self, directory, path):
        """Returns a description of weights that no origin recognized, for an error message."""
        return "no origin recognized it"


def open_tensorflow_file(path):
    """Opens a TensorFlow checkpoint as `bert_tf.checkpoints.tensorflow_file.TensorFlowFile`."""
    from bert_tf.checkpoints.tensorflow_file import TensorFlowFile  # TensorFlow takes seconds.

    return TensorFlowFile(path)
