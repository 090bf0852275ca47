"""Encoders of TF Hub and Kaggle Models.

They are SavedModels that `export_tfhub_lib` of tf-models-official writes.

They contain no config: the shapes of the variables in saved_model.pb show the sizes. TensorFlow,
which has the message types of this file, is only imported for SavedModels of other projects.
"""

import os

from bert_tf import files
from bert_tf.errors import InputError
from bert_tf.tasks.metadata import TASK_FILE
from bert_tf.tokenization.vocabulary import VOCABULARY_NAME

SAVED_MODEL_NAME = "saved_model.pb"
VARIABLES_FOLDER = "variables"
# Prefix of a checkpoint in the directory.
VARIABLES_NAME = os.path.join(VARIABLES_FOLDER, "variables")
VOCABULARY_PATH = os.path.join("assets", VOCABULARY_NAME)
EXTRA_FOLDER = "assets.extra"  # For files that the graph does not use.
TASK_PATH = os.path.join(EXTRA_FOLDER, TASK_FILE)  # Only in the exports of these scripts.
CASING = "do_lower_case/.ATTRIBUTES/VARIABLE_VALUE"  # Key of the casing in that checkpoint.

WORDS = "word_embeddings/embeddings"  # Name of a variable of each encoder of tf-models-official.
LAYER = "transformer/layer_{}/{}/kernel"


def find_version(folder):
    """Returns the Folder of a SavedModel, or None.

    This is `folder` itself, or its subdirectory with the highest version.
    """
    if folder.has_file(SAVED_MODEL_NAME):
        return folder
    versions = sorted((int(name) for name in folder.names if name.isdecimal()), reverse=True)
    for version in versions:
        if folder.has_file(f"{version}/{SAVED_MODEL_NAME}"):
            return folder.get_folder(str(version))
    return None


def read_variables(path):
    """Reads the variables in a saved_model.pb: dict of name -> shape; {} if it is damaged."""
    from google.protobuf.message import DecodeError
    from tensorflow.core.protobuf import saved_model_pb2

    try:
        saved_model = saved_model_pb2.SavedModel.FromString(files.read_bytes(path))
    except DecodeError:
        return {}
    return {
        node.variable.name: [dimension.size for dimension in node.variable.shape.dim]
        for graph in saved_model.meta_graphs
        for node in graph.object_graph_def.nodes
        if node.WhichOneof("kind") == "variable"
    }


def is_encoder(directory, folder):
    """Returns whether a Folder is the SavedModel of an encoder of tf-models-official.

    False for the exports of these scripts. `directory`: ModelDirectory that reads it.
    """
    if not folder.has_file(SAVED_MODEL_NAME) or folder.has_file(TASK_PATH):
        return False
    return WORDS in directory.read(read_variables, folder.join(SAVED_MODEL_NAME))


def get_sizes(shapes, path):
    """Returns the sizes of an encoder of tf-models-official.

    Args:
      shapes: Dict of name -> shape of its variables.
      path: Path of its saved_model.pb, for the error message.

    Returns:
      Dict of field of BertConfig to int.

    Raises:
      InputError: If it is another model than a BERT, with the path.
    """
    query = LAYER.format(0, "self_attention/query")
    inner = LAYER.format(0, "intermediate")
    if not {
        WORDS,
        "position_embedding/embeddings",
        "type_embeddings/embeddings",
        query,
        inner,
    } <= shapes.keys() or (shapes[WORDS][-1] != shapes[query][0]):
        raise InputError(
            f"{path}: only SavedModels of BERT encoders of tf-models-official are supported"
        )
    width, heads, _ = shapes[query]
    return {
        "vocab_size": shapes[WORDS][0],
        "hidden_size": width,
        "num_attention_heads": heads,
        "num_hidden_layers": sum(
            LAYER.format(number, "intermediate") in shapes for number in range(len(shapes))
        ),
        "intermediate_size": shapes[inner][1],
        "max_position_embeddings": shapes["position_embedding/embeddings"][0],
        "type_vocab_size": shapes["type_embeddings/embeddings"][0],
    }


def read_casing(path):
    """Reads whether the encoder of a saved_model.pb lowercases, from its variable do_lower_case.

    None without one.
    """
    import tensorflow as tf

    prefix = os.path.join(os.path.dirname(path), VARIABLES_NAME)
    files.check_no_pattern(prefix)
    try:
        reader = tf.train.load_checkpoint(prefix)
        return bool(reader.get_tensor(CASING)) if reader.has_tensor(CASING) else None
    except (tf.errors.OpError, IndexError) as error:  # IndexError is raised for truncated files
        raise InputError(
            f"{prefix}: the checkpoint cannot be read: {getattr(error, 'message', error)}"
        ) from error
