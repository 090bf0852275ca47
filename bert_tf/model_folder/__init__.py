"""The files next to a model's weights: config, vocabulary, casing, and task. Does not import TensorFlow.

    find_config(checkpoint)       path of the config, in any format
    read_config(path)             reads it as BertConfig
    find_tokenizer(checkpoint)    vocabulary and casing
    read_task(checkpoint)         task of a fine-tuned model of Hugging Face

`checkpoint` is a path for `bert_tf.checkpoints.find_checkpoint`: a directory, a prefix, or a file, local or remote.
"""

from bert_tf.model_folder.configs import check_vocabulary, find_config, read_config
from bert_tf.model_folder.places import BEST_FOLDER, TASK_FILE, find_file, list_directories
from bert_tf.model_folder.tasks import Task, read_task
from bert_tf.model_folder.tokenizers import TokenizerFiles, find_tokenizer, read_tokenizer_json_vocabulary
from bert_tf.model_folder.weights import check_loadable, weights_in

__all__ = [
           "BEST_FOLDER",
           "TASK_FILE",
           "Task",
           "TokenizerFiles",
           "check_loadable",
           "check_vocabulary",
           "find_config",
           "find_file",
           "find_tokenizer",
           "list_directories",
           "read_config",
           "read_task",
           "read_tokenizer_json_vocabulary",
           "weights_in",
]
