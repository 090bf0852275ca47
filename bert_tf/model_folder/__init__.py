"""The files next to a model's weights: config, vocabulary, casing, and task.

Does not import TensorFlow.

    find_config(checkpoint)       path of the config, in any format
    read_config(path)             reads it as BertConfig
    find_tokenizer(checkpoint)    vocabulary and casing
    task_metadata.read(checkpoint) its TaskMetadata

`checkpoint` is a path for `bert_tf.checkpoints.find_checkpoint`: a directory, a prefix, or a file,
local or remote.
"""

from bert_tf.model_folder.configs import find_config, read_config
from bert_tf.model_folder.directories import BEST_FOLDER, find_file, list_directories
from bert_tf.model_folder.tokenizers import (
    TokenizerFiles,
    find_tokenizer,
    read_tokenizer_json_vocabulary,
)
from bert_tf.model_folder.weights import check_exists, check_loadable, weights_in
from bert_tf.tasks.metadata import TASK_FILE

__all__ = [
    "BEST_FOLDER",
    "TASK_FILE",
    "TokenizerFiles",
    "check_exists",
    "check_loadable",
    "find_config",
    "find_file",
    "find_tokenizer",
    "list_directories",
    "read_config",
    "read_tokenizer_json_vocabulary",
    "weights_in",
]
